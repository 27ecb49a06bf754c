import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region vectorize
import type { Vectorize } from '@cloudflare/workers-types';
import { ReActAgent } from '@isoloop/core';
import { retrieval, type Retriever } from '@isoloop/recall';
// #endregion

test('a retriever over Vectorize gives the model the documents of the user', async () => {
  const model = new ScriptedModel(['At nine.']);
  const query = vi.fn(async () => ({
    count: 2,
    matches: [
      { id: '1', score: 0.9, metadata: { text: 'We open at nine.', title: 'hours.md' } },
      { id: '2', score: 0.2, metadata: { text: 'Unrelated.', title: 'other.md' } },
    ],
  }));
  const env = {
    VECTORIZE: { query } as unknown as Vectorize,
    AI: { run: async () => ({ data: [[0.1, 0.2]] }) },
  };

  // #region vectorize
  interface Bindings {
    readonly AI: { run(model: string, input: object): Promise<{ data: number[][] }> };
    readonly VECTORIZE: Vectorize;
  }

  const documentsOf = (user: string, { AI, VECTORIZE }: Bindings): Retriever => ({
    threshold: 0.6,
    async retrieve(question, { topK }) {
      const { data } = await AI.run('@cf/baai/bge-m3', { text: [question] });
      const { matches } = await VECTORIZE.query(data[0]!, {
        topK,
        namespace: user,
        returnMetadata: 'all',
      });
      return matches.map(({ id, score, metadata }) => ({
        id,
        score,
        content: String(metadata?.['text']),
        source: String(metadata?.['title']),
      }));
    },
  });

  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [retrieval({ retriever: documentsOf('ann', env), topK: 5 })],
  });
  await agent.call('When do you open?');
  // #endregion

  const [request] = model.requests;
  expect(JSON.stringify(request!.messages)).toContain('We open at nine.');
  expect(JSON.stringify(request!.messages)).not.toContain('Unrelated.');
  expect(query).toHaveBeenCalledWith([0.1, 0.2], {
    topK: 5,
    namespace: 'ann',
    returnMetadata: 'all',
  });
});
