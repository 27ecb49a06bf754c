import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region retrieval
import { MemoryStore, ReActAgent, textOf } from '@isoloop/core';
import { mmrRerank, recentQuestions, retrieval, type Retriever } from '@isoloop/recall';
import { keywordRetriever } from '@isoloop/recall'; // npm install minisearch
// #endregion
// #region retrieval-options
import { contextToken, provide } from '@isoloop/core/tool';
// #endregion
// #region stored-documents
// #endregion
// #region own-retriever
// #endregion
// #region citations
import type { RetrievedDocument } from '@isoloop/core/message';
// #endregion

test('retrieval() adds documents to the request', async () => {
  const model = new ScriptedModel(['九点。', 'Yes.', 'Ten.']);

  // #region retrieval
  const retriever = keywordRetriever([
    { id: 'hours', content: '图书馆早上九点开门，星期天不开门。', source: '开放时间' },
    { id: 'cards', content: 'Borrowing cards are made at the front desk.', source: 'cards.md' },
  ]);
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [retrieval({ retriever })],
  });
  const answer = await agent.call('图书馆几点开门？'); // the request contains "[1] Source: 开放时间 …"
  // #endregion

  expect(answer.text).toBe('九点。');
  expect(textOf(model.requests[0]!.messages[0]!)).toContain(
    '[1] Source: 开放时间\n图书馆早上九点开门，星期天不开门。',
  );
  expect((await agent.messages()).map(textOf)).toEqual(['图书馆几点开门？', '九点。']);

  const search = vi.spyOn(retriever, 'retrieve');
  const log = vi.spyOn(console, 'log').mockReturnValue();
  // #region retrieval-options
  const Tenant = contextToken<string>('tenant');

  const careful = retrieval({
    retriever,
    mode: 'both', // before each call, and as a tool
    topK: 5, // default 10
    candidates: 20, // number of documents that rerank can choose from
    rerank: mmrRerank(),
    threshold: 0.3, // default: the retriever's own, otherwise 0.7
    maxTokens: 2_000, // estimate for all documents together; default 4,000
    filters: ({ get }) => ({ tenant: get(Tenant) }), // restricts the documents per call
    query: recentQuestions(2), // the last two questions; default: only the last one
    onError: (error) => console.log(error.code), // the call continues
  });
  const assistant = new ReActAgent({ name: 'assistant', model, use: [careful] });
  await assistant.call('Is it open on Sunday?', { toolContext: [provide(Tenant, 'acme')] });
  // #endregion

  expect(search.mock.calls[0]).toMatchObject([
    'Is it open on Sunday?',
    { topK: 20, filters: { tenant: 'acme' } },
  ]);
  expect(model.requests[1]!.tools.map(({ name }) => name)).toEqual(['search_documents']);
  expect(log).not.toHaveBeenCalled();

  // #region stored-documents
  const store = new MemoryStore(); // or IndexedDbStore, KvStore, any KeyValueStore
  const handbook = keywordRetriever(
    { store, namespace: 'handbook' },
    { chunks: { maxTokens: 300, overlap: 40 } },
  );
  await handbook.add([
    {
      id: 'parking',
      content: '駐車場は裏手にあります。',
      source: 'guide.md',
      metadata: { lang: 'ja' },
    },
  ]);
  const found = await handbook.retrieve('駐車場はどこ?', {
    topK: 3,
    filters: { lang: ['ja', 'en'] },
  });
  console.assert(found[0]?.source === 'guide.md');
  await handbook.remove(['parking']);
  // #endregion

  expect(found).toHaveLength(1);

  const service = {
    query: async (_text: string, _options: object) => [
      { id: '1', text: 'Closed at ten.', title: 'News', similarity: 0.9 },
    ],
  };
  // #region own-retriever
  const vectors: Retriever = {
    async retrieve(query, { topK, filters, signal }) {
      const hits = await service.query(query, { limit: topK, filters, signal });
      return hits.map(({ id, text, title, similarity }) => ({
        id,
        content: text,
        source: title,
        score: similarity,
      }));
    },
  };
  // #endregion

  await new ReActAgent({
    name: 'assistant',
    model,
    use: [retrieval({ retriever: vectors })],
  }).call('When does it close?');
  expect(textOf(model.requests[2]!.messages[0]!)).toContain('[1] Source: News\nClosed at ten.');
});

test('an app resolves the numbers that the model cites to documents', async () => {
  const model = new ScriptedModel([
    'At the front desk [1]. It opens at nine [2], but not on Sunday [2].',
  ]);
  const retriever = keywordRetriever([
    { id: 'hours', content: 'The library opens at nine, not on Sunday.', source: 'hours.md' },
    { id: 'cards', content: 'Library cards are made at the front desk.', source: 'cards.md' },
  ]);

  // #region citations
  let shown: readonly RetrievedDocument[] = [];
  const agent = new ReActAgent({
    name: 'librarian',
    model,
    systemPrompt: 'Cite documents by their number, such as [1].',
    use: [
      retrieval({
        retriever,
        threshold: 0.1,
        // The last step that sees the documents: the model reads them in this order.
        rerank: (documents) => (shown = documents),
      }),
    ],
  });
  const { text } = await agent.call('When does the library open, and where are cards made?');
  const numbers = [
    ...new Set([...text.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number))),
  ];
  const sources = numbers.flatMap((number) => shown[number - 1]?.source ?? []);
  // #endregion

  expect(textOf(model.requests[0]!.messages[1]!)).toContain('[1] Source: cards.md');
  expect(sources).toEqual(['cards.md', 'hours.md']);
});
