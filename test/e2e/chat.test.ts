import type { UIMessage } from 'ai';
import type { Page } from 'playwright';
import { expect, inject, onTestFinished, test } from 'vitest';
import { collectProblems, newContext } from './browser.ts';

/** A page uses `useChat` with its default transport. */
type Place = '/kv' | '/do' | '/kv-brief';

const url = inject('chatUrl');
const chunks = new Set<string>();

interface Chat {
  readonly id: string;
  readonly page: Page;
  /** Returns one line per message: its role and its parts. */
  shown(): Promise<readonly string[]>;
  /** Waits until the chat is idle. */
  ready(): Promise<void>;
  /** Asks a question and waits for the end of the answer. */
  ask(text: string): Promise<void>;
  reload(): Promise<void>;
}

async function openChat(at: Place, { problems = 0 } = {}): Promise<Chat> {
  const id = crypto.randomUUID();
  const context = await newContext();
  const page = await context.newPage();
  const told = collectProblems(page);
  const note = async (): Promise<void> => {
    const read = await page.evaluate(() => ({ chunks: window.chunks, invalid: window.invalid }));
    expect(read.invalid).toEqual([]);
    for (const type of read.chunks) chunks.add(type);
  };
  onTestFinished(async () => {
    if (!page.isClosed()) await note();
    await context.close();
    expect(told).toHaveLength(problems);
  });
  await page.goto(`${url}/?at=${at}&id=${id}`);
  const chat: Chat = {
    id,
    page,
    shown: () => page.getByRole('listitem').allInnerTexts(),
    async ready() {
      await expect.poll(() => page.locator('output').innerText()).toBe('ready');
    },
    async ask(text) {
      await page.evaluate((question) => window.chat.sendMessage({ text: question }), text);
      await chat.ready();
    },
    async reload() {
      await note();
      await page.reload();
      await page.locator('output').waitFor();
    },
  };
  await chat.ready();
  return chat;
}

/** Reads the stored messages as another client. */
async function stored(at: Place, id: string): Promise<readonly UIMessage[]> {
  const response = await fetch(`${url}${at}/api/chat/${id}/messages`);
  return ((await response.json()) as { messages: UIMessage[] }).messages;
}

const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

const weather = [
  'user | weather?',
  'assistant | (I have to look.) | I look. | weather {"place":"Seoul"} output-available "rain" | It is rain.',
];

test('/do: a page shows streamed reasoning, text and a tool call, and shows them again after a reload', async () => {
  const chat = await openChat('/do');
  await chat.ask('weather?');
  expect(await chat.shown()).toEqual(weather);
  await chat.reload();
  await chat.ready();
  expect(await chat.shown()).toEqual(weather);
  await chat.ask('서울은?');
  expect((await chat.shown()).at(-1)).toBe('assistant | “서울은?”, message 2, after 2.');
});

test.for([
  ['/kv', true],
  ['/do', false],
] as const)(
  '%s: a page asks for an approval, also after a reload, and the decision takes effect: %s',
  async ([at, yes]) => {
    const chat = await openChat(at);
    await chat.ask('remove it');
    const asked = ['user | remove it', 'assistant | remove {"place":"Seoul"} approval-requested'];
    expect(await chat.shown()).toEqual(asked);
    // The reloaded page asks for the approval again.
    await chat.reload();
    await chat.ready();
    expect(await chat.shown()).toEqual(asked);
    await chat.page.evaluate(async (approved) => {
      const part = window.chat.messages[1]!.parts.find((each) => each.type === 'dynamic-tool');
      await window.chat.addToolApprovalResponse({
        id: part!.approval!.id,
        approved,
        ...(!approved && { reason: 'not today' }),
      });
    }, yes);
    await expect
      .poll(async () => (await chat.shown()).at(-1))
      .toMatch(
        yes
          ? /output-available "removed" \| It is removed\.$/
          : /output-denied “not today” \| It is .*not today/,
      );
    await chat.ready();
    expect(await chat.shown()).toHaveLength(2);
    const done = await chat.shown();
    await chat.reload();
    await chat.ready();
    expect(await chat.shown()).toEqual(done);
  },
);

test('/kv: the model gets the result of a tool that runs in the page', async () => {
  const chat = await openChat('/kv');
  await chat.ask('where am I?');
  await chat.page.evaluate(async () => {
    const part = window.chat.messages[1]!.parts.find((each) => each.type === 'dynamic-tool')!;
    await window.chat.addToolOutput({
      tool: part.toolName,
      toolCallId: part.toolCallId,
      output: 'Seoul',
    });
  });
  await expect
    .poll(async () => (await chat.shown()).at(-1))
    .toBe('assistant | location {} output-available "Seoul" | It is Seoul.');
});

test('/kv: the endpoint reports a failure without the model’s error text, and answers the next question', async () => {
  const chat = await openChat('/kv');
  await chat.page.evaluate(() => window.chat.sendMessage({ text: 'fail' }));
  await expect.poll(() => chat.page.locator('output').innerText()).toBe('error');
  const alert = await chat.page.getByRole('alert').innerText();
  expect(alert).not.toBe('');
  expect(alert).not.toContain('sk-secret');
  expect(await chat.shown()).toEqual(['user | fail', 'assistant | Half an']);
  await chat.ask('and now?');
  expect((await chat.shown()).at(-1)).toMatch(/^assistant \| “and now\?”, message 2/);
});

test.for(['/kv-brief', '/do'] as const)(
  '%s: the text of a stopped answer stays, and the conversation continues',
  async (at) => {
    const chat = await openChat(at);
    const last = async (): Promise<string> => (await chat.shown()).at(-1) ?? '';
    await chat.page.evaluate(() => void window.chat.sendMessage({ text: 'count' }));
    await expect.poll(last).toContain('1 2 3');
    await chat.page.evaluate(() => window.chat.stop());
    await chat.ready();
    // At /kv-brief, the disconnect has already ended the answer, because of `afterDisconnectMs: 0`.
    if (at === '/do') await interrupt(chat);
    await expect.poll(async () => (await stored(at, chat.id)).map(textOf).at(-1)).toMatch(/^1 2 3/);
    await chat.ask('and now?');
    expect(await last()).toContain('“and now?”, message 2, after 1.');
    const texts = (await stored(at, chat.id)).map(textOf);
    expect(texts).toEqual([
      'count',
      expect.stringMatching(/^1 2 3/),
      'and now?',
      '“and now?”, message 2, after 1.',
    ]);
    expect(texts[1]).not.toContain('40');
  },
);

test('/do: when another connection stops an answer, the answer also ends in the page that reads it', async () => {
  const chat = await openChat('/do');
  await chat.page.evaluate(() => void window.chat.sendMessage({ text: 'count' }));
  await expect.poll(async () => (await chat.shown()).at(-1)).toContain('1 2 3');
  await interrupt(chat);
  await chat.ready();
  expect((await chat.shown()).at(-1)).not.toContain('40');
});

/** Lets the model continue its answer to "count". */
async function release({ id }: Chat): Promise<void> {
  await fetch(`${url}/release/${id}`, { method: 'POST' });
}

async function interrupt({ page, id }: Chat): Promise<void> {
  const interrupted = await page.request.post(`${url}/do/api/chat/${id}/interrupt`, {
    data: { mode: 'abort' },
  });
  expect(await interrupted.json()).toEqual({ interrupted: true });
}

test('/kv: a page can regenerate an answer, and editing a message removes all later messages', async () => {
  const chat = await openChat('/kv');
  await chat.ask('one');
  await chat.ask('two');
  await chat.page.evaluate(() => window.chat.regenerate());
  await chat.ready();
  const [one, answer] = ['user | one', 'assistant | “one”, message 1, after 0.'];
  expect(await chat.shown()).toEqual([
    one,
    answer,
    'user | two',
    'assistant | “two”, message 2, after 1.',
  ]);
  await chat.page.evaluate(() =>
    window.chat.sendMessage({ text: 'eins', messageId: window.chat.messages[0]!.id }),
  );
  await chat.ready();
  const edited = ['user | eins', 'assistant | “eins”, message 1, after 0.'];
  expect(await chat.shown()).toEqual(edited);
  await chat.reload();
  await chat.ready();
  expect(await chat.shown()).toEqual(edited);
  await chat.page.evaluate(() =>
    window.chat.regenerate({ messageId: window.chat.messages[1]!.id }),
  );
  await chat.ready();
  expect(await chat.shown()).toEqual(edited);
  expect((await stored('/kv', chat.id)).map(textOf)).toEqual([
    'eins',
    '“eins”, message 1, after 0.',
  ]);
});

test('/kv: the page sends the latest echo (the session’s token) with each question, also after a reload', async () => {
  const chat = await openChat('/kv');
  const posted = async (): Promise<readonly (string | undefined)[]> => {
    const bodies = await chat.page.evaluate(() =>
      window.requests.filter(({ path }) => path === '/kv/api/chat').map(({ body }) => body),
    );
    return bodies.map(
      (body) =>
        (body as { messages: UIMessage<{ echo?: string }>[] }).messages.findLast(
          ({ metadata }) => metadata,
        )?.metadata?.echo,
    );
  };
  const latest = () =>
    chat.page.evaluate(() => (window.chat.messages.at(-1)!.metadata as { echo?: string }).echo);
  await chat.ask('one');
  const first = await latest();
  await chat.ask('two');
  const second = await latest();
  expect(await posted()).toEqual([undefined, first]);
  await chat.reload();
  await chat.ready();
  const read = await latest();
  await chat.ask('three');
  expect(await posted()).toEqual([read]);
  expect(new Set([first, second, read, await latest()]).size).toBe(4);
  expect((await chat.shown()).at(-1)).toBe('assistant | “three”, message 3, after 2.');
});

test('/do: a page that reloads during an answer shows the whole answer and continues the stream', async () => {
  const chat = await openChat('/do');
  await chat.page.evaluate(() => void window.chat.sendMessage({ text: 'count' }));
  await expect.poll(async () => (await chat.shown()).at(-1)).toContain('1 2 3');
  await chat.reload();
  await expect.poll(() => chat.page.locator('output').innerText()).toBe('streaming');
  await release(chat);
  await chat.ready();
  const all = Array.from({ length: 40 }, (_, index) => index + 1).join(' ');
  expect(await chat.shown()).toEqual(['user | count', `assistant | ${all}`]);
});

test('/kv: the endpoint stores the whole answer even if the page closes during the answer', async () => {
  const chat = await openChat('/kv');
  await chat.page.evaluate(() => void window.chat.sendMessage({ text: 'count' }));
  await expect.poll(async () => (await chat.shown()).at(-1)).toContain('1 2 3');
  await chat.page.close();
  await release(chat);
  await expect
    .poll(async () => (await stored('/kv', chat.id)).map(textOf).at(-1))
    .toMatch(/^1 2 3 .* 40 $/);
});

test('/kv: the mounted endpoint lists conversations and streams the events of a run, and the app’s own routes work', async () => {
  const chat = await openChat('/kv');
  await chat.ask('제목이 되는 말');
  const response = await fetch(`${url}/kv/api/chats`);
  const { chats } = (await response.json()) as { chats: { sessionId: string; title: string }[] };
  expect(chats).toContainEqual(
    expect.objectContaining({ sessionId: chat.id, title: '제목이 되는 말' }),
  );
  const run = await fetch(`${url}/kv/api/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: crypto.randomUUID(), input: 'weather?' }),
  });
  const lines = (await run.text())
    .split('\n')
    .flatMap((line) =>
      line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as { type: string }] : [],
    );
  const types = lines.map(({ type }) => type);
  expect([types[0], types.at(-1)]).toEqual(['run-start', 'run-end']);
  expect(types).toEqual(expect.arrayContaining(['reasoning-chunk', 'pre-acting', 'post-acting']));
  expect(await (await fetch(`${url}/kv/api/mine`)).text()).toBe('mine');
  expect((await fetch(`${url}/api/chat`, { method: 'POST' })).status).toBeGreaterThanOrEqual(404);
});

test('the tests of this file have read chunks of every type with AI SDK’s schema', () => {
  expect([...chunks].toSorted()).toEqual([
    '(comment)',
    'abort',
    'error',
    'finish',
    'finish-step',
    'message-metadata',
    'reasoning-delta',
    'reasoning-end',
    'reasoning-start',
    'start',
    'start-step',
    'text-delta',
    'text-end',
    'text-start',
    'tool-approval-request',
    'tool-approval-response',
    'tool-input-available',
    'tool-input-delta',
    'tool-input-start',
    'tool-output-available',
    'tool-output-denied',
  ]);
});
