import { connectAgent, IndexedDbSessions } from '@isoloop/web-worker';
import { useAgentEvents } from '@isoloop/react';
import { createElement, use, type ReactNode } from 'react';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';
import type { PageFixtureOptions } from '../../../web-worker/test-support/page.ts';
import { testDatabase } from '../../../web-worker/test-support/database.ts';

function startWorker(): Worker {
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  return worker;
}

/** Options of a conversation that IndexedDB keeps. */
function conversation(options: PageFixtureOptions, sessionId: string = crypto.randomUUID()) {
  return {
    agent: 'main',
    sessionId,
    timeoutMs: 120_000,
    options: { database: 'isoloop', ...options },
  };
}

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};

test.for([true, false])(
  'shows the answer of an agent in a worker, its tools and its events (strict mode: %s)',
  async (strict) => {
    const replies = [{ text: 'I look.', toolCalls: [{ name: 'here' }] }, 'There.'];
    const view = mountChat(startWorker(), conversation({ replies }), {
      strict,
      hook: useAgentEvents,
    });
    await ready(view);
    expect(view.statuses[0]).toBe('loading');
    await view.chat().sendMessage({ text: 'where?' });
    await ready(view);
    await expect
      .poll(() => linesOf(view))
      .toEqual([
        'user: where?',
        'assistant: I look. | here output-available in the worker | There.',
      ]);
    expect(view.chat().messages[1]?.parts.map(({ type }) => type)).toContain('tool-here');
    expect(view.chat().error).toBeUndefined();
    expect(view.statuses).toContain('streaming');
    const types = view.value().map(({ type }) => type);
    expect(types[0]).toBe('run-start');
    expect(types).toContain('post-acting');
    expect(types.filter((type) => type === 'run-end')).toHaveLength(1);
  },
);

test('after a reload, loads the history', async () => {
  const { sessionId, ...first } = conversation({ replies: ['One.'] });
  const before = mountChat(startWorker(), { sessionId, ...first });
  await ready(before);
  await before.chat().sendMessage({ text: 'count' });
  await ready(before);
  before.unmount();
  const view = mountChat(startWorker(), conversation({ replies: ['Two.'] }, sessionId));
  await expect.poll(() => linesOf(view)).toEqual(['user: count', 'assistant: One.']);
  await ready(view);
  await view.chat().sendMessage({ text: 'more' });
  await expect.poll(() => linesOf(view).at(-1)).toBe('assistant: Two.');
});

test('a page that opens while a guard checks the question shows the question and its answer', async () => {
  const worker = startWorker();
  const options = conversation({ replies: ['Yes.'], heldInput: true });
  const asks = connectAgent(worker, options);
  const answer = asks.call('go');
  for await (const { type } of asks.watch()) if (type === 'run-start') break;
  const view = mountChat(worker, options);
  await expect.poll(() => view.chat()?.status).toBe('loading');
  // The worker answers in order, so the chat has asked for the run before the guard ends.
  for (let trip = 0; trip < 20; trip += 1) await asks.pending();
  worker.postMessage({ open: true });
  await answer;
  await ready(view);
  await expect.poll(() => linesOf(view)).toEqual(['user: go', 'assistant: Yes.']);
});

test.for([
  { withoutModel: 'answers', lines: ['user: go', 'assistant: Stored.'] },
  { withoutModel: 'fails', lines: ['user: go'] },
] as const)(
  'shows the run of another tab that $withoutModel without a request to the model',
  async ({ withoutModel, lines }) => {
    const worker = startWorker();
    const options = conversation({ withoutModel });
    const view = mountChat(worker, options);
    await ready(view);
    await connectAgent(worker, options)
      .call('go')
      .catch(() => {});
    await expect.poll(() => linesOf(view)).toEqual(lines);
  },
);

test('after a crash, continues the answer and says so; the finished tool does not run again', async () => {
  const worker = startWorker();
  const replies = [{ text: 'I look.', toolCalls: [{ name: 'here' }] }, { hang: true }];
  const { sessionId, ...first } = conversation({ replies });
  const before = mountChat(worker, { sessionId, ...first });
  await ready(before);
  void before.chat().sendMessage({ text: 'where?' });
  await expect
    .poll(() => linesOf(before)[1])
    .toBe('assistant: I look. | here output-available in the worker');
  worker.terminate();
  before.unmount();
  const view = mountChat(startWorker(), conversation({ replies: ['There.'] }, sessionId));
  await expect
    .poll(() => linesOf(view))
    .toEqual(['user: where?', 'assistant: I look. | here output-available in the worker | There.']);
  await ready(view);
  expect(view.statuses).toContain('continuing');
  expect(view.statuses).not.toContain('other-tab');
});

test('a message that is sent while the chat loads waits and is answered', async () => {
  const view = mountChat(startWorker(), conversation({ replies: ['Hello.'] }));
  await expect.poll(() => view.chat()).toBeDefined();
  await view.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: Hello.']);
});

test('stop() keeps the text, and regenerate() replaces the answer', async () => {
  const replies = [{ text: 'one two', hang: true }, 'Anew.'];
  const view = mountChat(startWorker(), conversation({ replies }));
  await ready(view);
  const sending = view.chat().sendMessage({ text: 'count' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: one two');
  await expect.poll(() => view.chat().status).toBe('streaming');
  expect(view.chat().isBusy).toBe(true);
  await view.chat().stop();
  await sending;
  await ready(view);
  expect(linesOf(view)[1]).toBe('assistant: one two');
  await view.chat().regenerate();
  await expect.poll(() => linesOf(view)).toEqual(['user: count', 'assistant: Anew.']);
});

test('other options apply after the running answer, and the conversation stays', async () => {
  const [worker, options] = [startWorker(), conversation({ replies: ['One.'], gated: true })];
  const view = mountChat(worker, options);
  await ready(view);
  void view.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => view.chat().status).toBe('submitted');
  const { options: given, ...others } = options;
  view.render({ ...others, options: { ...given, replies: ['Two.'] } });
  worker.postMessage({ open: true });
  await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: One.']);
  await expect.poll(() => view.statuses.filter((status) => status === 'loading')).toHaveLength(2);
  await ready(view);
  view.render({ ...others, options: { ...given, replies: ['Two.'] } });
  await view.chat().sendMessage({ text: 'again' });
  await expect
    .poll(() => linesOf(view))
    .toEqual(['user: hi', 'assistant: One.', 'user: again', 'assistant: Two.']);
  expect(view.statuses.filter((status) => status === 'loading')).toHaveLength(2);
});

test.for([false, true])(
  'messages that are sent during an answer wait for its end, and each is answered (no component shows the chat: %s)',
  async (unmounts) => {
    const [worker, options] = [
      startWorker(),
      conversation({ replies: ['One.', 'Two.', 'Three.'], gated: true }),
    ];
    const first = mountChat(worker, options);
    await ready(first);
    const sent = [first.chat().sendMessage({ text: '1' })];
    await expect.poll(() => first.chat().status).toBe('submitted');
    for (const text of ['2', '3']) sent.push(first.chat().sendMessage({ text }));
    if (unmounts) first.unmount();
    worker.postMessage({ open: true });
    await Promise.all(sent);
    const view = unmounts ? mountChat(worker, options) : first;
    await expect
      .poll(() => linesOf(view))
      .toEqual([
        'user: 1',
        'assistant: One.',
        'user: 2',
        'assistant: Two.',
        'user: 3',
        'assistant: Three.',
      ]);
    await ready(view);
    expect(first.statuses).not.toContain('error');
  },
);

test('a message that fails does not hold up the next one', async () => {
  const replies = [{ error: new Error('The line broke.') }, 'Hello.'];
  const view = mountChat(startWorker(), conversation({ replies }));
  await ready(view);
  const sending = ['1', '2'].map((text) => view.chat().sendMessage({ text }));
  await Promise.all(sending);
  await expect.poll(() => linesOf(view).at(-1)).toBe('assistant: Hello.');
  await ready(view);
});

test('two components with the same worker and session show one chat', async () => {
  const [worker, options] = [startWorker(), conversation({ replies: ['Hello.'] })];
  const views = [mountChat(worker, options), mountChat(worker, options)];
  for (const view of views) await ready(view);
  await views[0]!.chat().sendMessage({ text: 'hi' });
  for (const view of views)
    await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: Hello.']);
  expect(views[1]!.chat().conversation).toBe(views[0]!.chat().conversation);
  expect(views[1]!.statuses).not.toContain('other-tab');
});

test('a chat that suspends at first shows the conversation, and connects once', async () => {
  let wake = (): void => {};
  const waiting = new Promise<void>((resolve) => (wake = resolve));
  function Suspends(): ReactNode {
    use(waiting);
    return null;
  }
  const view = mountChat(startWorker(), conversation({ replies: ['Hello.'] }), {
    inside: createElement(Suspends, { key: 'suspends' }),
  });
  wake();
  await ready(view);
  await view.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: Hello.']);
});

test('an answer goes on while no component shows it, and a new component shows it', async () => {
  const worker = startWorker();
  const options = conversation({ replies: ['Hello.'], gated: true });
  const first = mountChat(worker, options);
  await ready(first);
  void first.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => first.chat().status).toBe('submitted');
  first.unmount();
  const view = mountChat(worker, options);
  worker.postMessage({ open: true });
  await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: Hello.']);
  await ready(view);
});

test('a worker that cannot be loaded gives the error', async () => {
  const worker = new Worker(
    new URL('../../../web-worker/test-support/throwing.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  const view = mountChat(worker, { sessionId: 's' });
  await expect.poll(() => view.chat()?.status).toBe('error');
  expect(view.chat().error).toMatchObject({ code: 'WORKER_FAILED' });
});

test('the answer to an approval runs the tool; a denial does not', async () => {
  const asks = { toolCalls: [{ name: 'here' }] };
  const view = mountChat(
    startWorker(),
    conversation({ replies: [asks, 'Yes.', asks, 'No.'], needsApproval: ['here'] }),
  );
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  expect(view.chat().approvals[0]).toMatchObject({ toolName: 'here', input: {} });
  await view.chat().approvals[0]!.approve();
  await expect
    .poll(() => linesOf(view)[1])
    .toBe('assistant: here output-available in the worker | Yes.');
  await ready(view);
  expect(view.chat().approvals).toEqual([]);
  await view.chat().sendMessage({ text: 'again' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().approvals[0]!.deny('too far');
  await expect
    .poll(() => linesOf(view).at(-1))
    .toMatch(/^assistant: here output-(error|denied) \| No\./);
});

test('edit() runs the tool with other arguments, and the chat shows them as its own run', async () => {
  const asks = { toolCalls: [{ name: 'here', input: { room: 'attic' } }] };
  const view = mountChat(
    startWorker(),
    conversation({ replies: [asks, 'Yes.'], needsApproval: ['here'] }),
  );
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().approvals[0]!.edit({ room: 'cellar' });
  await expect
    .poll(() => linesOf(view))
    .toEqual(['user: go', 'assistant: here output-available in the worker | Yes.']);
  const part = view.chat().messages[1]!.parts.find(({ type }) => type === 'tool-here');
  expect(part).toMatchObject({ input: { room: 'cellar' } });
  expect(view.statuses).not.toContain('other-tab');
});

test('an edit that the tool refuses leaves the approval open, and the chat shows why', async () => {
  const asks = { toolCalls: [{ name: 'here', input: { room: 'attic' } }] };
  const view = mountChat(
    startWorker(),
    conversation({ replies: [asks, 'Yes.'], needsApproval: ['here'] }),
  );
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().approvals[0]!.edit({ room: 20 });
  await expect.poll(() => view.chat().error?.message).toMatch('do not fit its schema');
  expect(view.chat().approvals).toMatchObject([{ toolName: 'here', input: { room: 'attic' } }]);
  await view.chat().approvals[0]!.edit({ room: 'cellar' });
  await expect
    .poll(() => linesOf(view))
    .toEqual(['user: go', 'assistant: here output-available in the worker | Yes.']);
});

test('a conversation opens one connection to the database, however often it lists the conversations', async () => {
  testDatabase('isoloop');
  const open = vi.spyOn(indexedDB, 'open');
  const worker = new Worker(
    new URL('../../../web-worker/test-support/chat-worker.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  const view = mountChat(
    worker,
    {
      agent: 'assistant',
      sessionId: crypto.randomUUID(),
      timeoutMs: 120_000,
      options: { replies: ['One.', 'Two.'] },
      listSessions: true,
    },
    { strict: false },
  );
  await ready(view);
  for (const title of ['One', 'Two']) {
    await view.chat().sendMessage({ text: 'hi' });
    await ready(view);
    await view.chat().sessions.rename(view.chat().sessions.current, title);
    await expect
      .poll(() => view.chat().sessions.list?.map((entry) => entry.title))
      .toContain(title);
  }
  expect(open).toHaveBeenCalledTimes(1);
});

test('lists, renames, opens, exports and deletes conversations', async () => {
  testDatabase('isoloop');
  const worker = new Worker(
    new URL('../../../web-worker/test-support/chat-worker.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  const sessionId = crypto.randomUUID();
  const options = { replies: ['One.', 'Two.'] };
  const view = mountChat(worker, {
    agent: 'assistant',
    sessionId,
    timeoutMs: 120_000,
    options,
    listSessions: true,
  });
  await ready(view);
  await view.chat().sendMessage({ text: 'hi' });
  await ready(view);
  const entry = () => view.chat().sessions.list?.find((one) => one.sessionId === sessionId);
  await expect.poll(() => entry()?.title).toBe('hi');
  await view.chat().sessions.rename(sessionId, 'Greeting');
  await expect.poll(() => entry()?.title).toBe('Greeting');
  await view.chat().sendMessage({ text: 'and again' });
  await expect.poll(() => linesOf(view)).toHaveLength(4);
  await ready(view);
  await expect.poll(() => entry()?.title).toBe('Greeting');
  expect(await view.chat().sessions.export(sessionId)).toMatchObject({
    format: 'isoloop-session',
    sessionId: `assistant/${sessionId}`,
  });
  view.chat().sessions.open();
  await expect.poll(() => view.chat().sessions.current).not.toBe(sessionId);
  await ready(view);
  expect(view.chat().messages).toEqual([]);
  view.chat().sessions.open(sessionId);
  await expect
    .poll(() => linesOf(view))
    .toEqual(['user: hi', 'assistant: One.', 'user: and again', 'assistant: Two.']);
  await view.chat().sessions.delete(sessionId);
  await expect.poll(() => view.chat().sessions.current).not.toBe(sessionId);
  await expect.poll(entry).toBeUndefined();
  expect(await new IndexedDbSessions().list({ startsWith: `assistant/${sessionId}` })).toEqual([]);
});
