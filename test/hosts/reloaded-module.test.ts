import { MemoryStore, ReActAgent, type KeyValueStore } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { AgentHandler } from '@isoloop/edge';
import type { UIMessage } from 'ai';
import { expect, test, vi } from 'vitest';

interface Options {
  readonly store: KeyValueStore;
  readonly replies: readonly ScriptedReply[];
  readonly name?: string;
}

/** Creates a handler as a module does that a bundler evaluates once more, with all its imports. */
async function evaluate({ store, replies, name }: Options) {
  vi.resetModules();
  const { createAgentHandler } = await import('@isoloop/edge');
  const { storeSessions } = await import('@isoloop/edge/store');
  const model = new ScriptedModel(replies);
  const handler = createAgentHandler({
    store: storeSessions(store, name === undefined ? {} : { name }),
    authorize: () => ({ user: 'ann' }),
    agent: ({ memory, sessionId }) => new ReActAgent({ name: 'a', model, memory, sessionId }),
  });
  return { handler, model };
}

function send(handler: Pick<AgentHandler, 'fetch'>, text: string): Promise<Response> {
  const message = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
  const request = new Request('https://host.test/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 's', messages: [message] }),
  });
  return Promise.resolve(handler.fetch(request));
}

async function textsIn(handler: Pick<AgentHandler, 'fetch'>): Promise<readonly string[]> {
  const response = await handler.fetch(new Request('https://host.test/api/chat/s/messages'));
  const { messages } = (await response.json()) as { messages: readonly UIMessage[] };
  return messages.map(({ parts }) =>
    parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  );
}

/** Returns a promise, and the function that resolves it. */
function gate() {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

test('handlers of one name have one queue, and the newest agent answers the next message', async () => {
  const store = new MemoryStore();
  const held = gate();
  const name = crypto.randomUUID();
  const old = await evaluate({ store, name, replies: [{ wait: held.passed, text: 'One.' }] });
  const first = await send(old.handler, 'One?');
  await expect.poll(() => old.model.requests.length).toBe(1);
  const { handler, model } = await evaluate({ store, name, replies: ['Two.', 'Three.'] });
  const second = await send(handler, 'Two?');
  // Another route still has the old module.
  const third = await send(old.handler, 'Three?');
  expect(model.requests).toHaveLength(0);
  held.open();
  for (const { body } of [first, second, third]) await new Response(body).text();
  const all = ['One?', 'One.', 'Two?', 'Two.', 'Three?', 'Three.'];
  expect(await textsIn(handler)).toEqual(all);
  expect(await textsIn(old.handler)).toEqual(all);
  expect(old.model.requests).toHaveLength(1);
});

test('the handlers of one name use the store of the first one', async () => {
  const name = crypto.randomUUID();
  const old = await evaluate({ store: new MemoryStore(), name, replies: ['One.'] });
  await (await send(old.handler, 'One?')).text();
  const { handler } = await evaluate({ store: new MemoryStore(), name, replies: ['Two.'] });
  await (await send(handler, 'Two?')).text();
  expect(await textsIn(handler)).toEqual(['One?', 'One.', 'Two?', 'Two.']);
});

test('handlers without a name have queues of their own', async () => {
  const store = new MemoryStore();
  const held = gate();
  const old = await evaluate({ store, replies: [{ wait: held.passed, text: 'One.' }] });
  const first = await send(old.handler, 'One?');
  await expect.poll(() => old.model.requests.length).toBe(1);
  const { handler, model } = await evaluate({ store, replies: ['Two.'] });
  await (await send(handler, 'Two?')).text();
  expect(model.requests).toHaveLength(1);
  held.open();
  await first.text();
});

test.each([
  [{ name: '' }, 'storeSessions(): `name` must be text that is not empty.'],
  [{ name: 5 }, 'storeSessions()'],
])('storeSessions() refuses the options %j', async (options, message) => {
  const { storeSessions } = await import('@isoloop/edge/store');
  expect(() => storeSessions(new MemoryStore(), options as never)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message) as string,
    }) as Error,
  );
});
