import { AgentError, MemoryStore, ReActAgent, tool, type KeyValueStore } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { result } from '../../test-support/queue-places.ts';
import { expect, test, vi } from 'vitest';
import { ask, gate, textOf } from '../../test-support/session-client.ts';
import { createAgentHandler } from '../handler/agent-handler.ts';
import { storeSessions } from './index.ts';

/** A tool of the page. */
const color = tool({ name: 'color', description: 'Asks for a color', input: { type: 'object' } });

interface Shown {
  readonly messages: readonly UIMessage[];
  readonly queued?: readonly { readonly message: UIMessage; readonly state: string }[];
}

interface Options {
  readonly replies: readonly ScriptedReply[];
  readonly store?: KeyValueStore;
  /** Called for each new agent. */
  readonly onMake?: () => void;
}

function openProcess({ replies, store = new MemoryStore(), onMake = () => {} }: Options) {
  const model = new ScriptedModel(replies);
  const handler = createAgentHandler({
    store: storeSessions(store),
    authorize: () => ({ user: 'ann' }),
    agent: ({ memory, sessionId }) => {
      onMake();
      return new ReActAgent({ name: 'a', model, memory, sessionId, tools: [color] });
    },
  });
  const send = async (path: string, init?: RequestInit): Promise<Response> =>
    handler.fetch(new Request(`https://edge.test/api/chat${path}`, init));
  const post = (message: object, fields: object = {}): Promise<Response> =>
    send('', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 's', messages: [message], ...fields }),
    });
  const shown = async () => {
    const { messages, queued = [] } = (await (await send('/s/messages')).json()) as Shown;
    return {
      texts: messages.map(textOf),
      queued: queued.map(({ message, state }) => [textOf(message), state]),
    };
  };
  return { send, post, shown };
}

/** Returns a store whose writes of the queue fail while `isBroken` is set. */
function breakableStore(): { readonly store: MemoryStore; isBroken: boolean } {
  const state = { store: new MemoryStore(), isBroken: false };
  const fail = (key: string | undefined): void => {
    if (state.isBroken && key?.startsWith('queue:'))
      throw new AgentError('STORAGE_FAILED', 'The disk is full.');
  };
  const { store } = state;
  const setMany = store.setMany.bind(store);
  const remove = store.delete.bind(store);
  vi.spyOn(store, 'setMany').mockImplementation(
    async (entries) => (fail(entries[0]?.[0]), setMany(entries)),
  );
  vi.spyOn(store, 'delete').mockImplementation(async (keys) => (fail(keys[0]), remove(keys)));
  return state;
}

test('a message that the store refused does not run later', async () => {
  const held = gate();
  const state = breakableStore();
  const { post, shown } = openProcess({
    store: state.store,
    replies: [{ wait: held.passed, text: 'One.' }, 'Three.'],
  });
  const first = await post(ask('One?'));
  state.isBroken = true;
  expect((await post(ask('Two?'))).status).toBe(503);
  state.isBroken = false;
  expect(await shown()).toEqual({ texts: ['One?'], queued: [] });
  const third = await post(ask('Three?'));
  held.open();
  await Promise.all([first.text(), third.text()]);
  expect((await shown()).texts).toEqual(['One?', 'One.', 'Three?', 'Three.']);
});

test('a queue that could not be deleted refuses no later message, and is deleted then', async () => {
  const held = gate();
  const state = breakableStore();
  const { post, shown } = openProcess({
    store: state.store,
    replies: [{ wait: held.passed, text: 'One.' }, 'Two.', 'Three.'],
  });
  const first = await post(ask('One?'));
  const second = await post(ask('Two?'));
  state.isBroken = true;
  held.open();
  await Promise.all([first.text(), second.text()]);
  await expect.poll(() => state.store.keys('queue:')).toHaveLength(2);
  state.isBroken = false;
  const third = await post(ask('Three?'));
  expect(third.status).toBe(200);
  await third.text();
  expect((await shown()).texts).toEqual(['One?', 'One.', 'Two?', 'Two.', 'Three?', 'Three.']);
  await expect.poll(() => state.store.keys('queue:')).toEqual([]);
});

test('a conversation goes on, and can be deleted, although its stored queue cannot be read', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const store = new MemoryStore();
  await (await openProcess({ store, replies: ['One.'] }).post(ask('One?'))).text();
  await store.set('queue:ann%2Fs', '{"v":1,"turns":[{"req');
  const { post, send, shown } = openProcess({ store, replies: ['Two.'] });
  expect(await shown()).toEqual({ texts: ['One?', 'One.'], queued: [] });
  await (await post(ask('Two?'))).text();
  expect((await shown()).texts).toEqual(['One?', 'One.', 'Two?', 'Two.']);
  await expect.poll(() => store.keys('queue:')).toEqual([]);
  await store.set('queue:ann%2Fs', '{"v":99,"turns":[]}');
  const newer = openProcess({ store, replies: [] });
  expect((await newer.send('/s/messages')).status).toBe(503);
  expect((await send('/s', { method: 'DELETE' })).status).toBe(204);
});

test('a client that waits gets its answer also after a hundred other conversations', async () => {
  const held = gate();
  const others = Array.from({ length: 110 }, () => 'x');
  const asksColor = { toolCalls: [{ id: 'c1', name: 'color', input: {} }], wait: held.passed };
  const { post, shown } = openProcess({
    replies: [asksColor as ScriptedReply, ...others, 'Blue it is.', 'Hello.'],
  });
  const first = await post(ask('Paint'));
  const second = await post(ask('Hello'));
  held.open();
  const messageId = /"messageId":"([^"]+)"/.exec(await first.text())![1]!;
  for (const index of others.keys()) await (await post(ask('x'), { id: `other-${index}` })).text();
  await (await post(result(messageId))).text();
  expect(await second.text()).toContain('Hello.');
  expect((await shown()).texts).toEqual(['Paint', 'Blue it is.', 'Hello', 'Hello.']);
});

test('a failed message that is sent again and fails again is still there', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const held = gate();
  let makes = 0;
  const { post, shown } = openProcess({
    replies: [{ wait: held.passed, text: 'One.' }, 'Two.'],
    onMake: () => {
      makes += 1;
      if (makes === 2 || makes === 3) throw new AgentError('OVERLOADED', 'Later.');
    },
  });
  const lost = ask('Two?');
  const first = await post(ask('One?'));
  const second = await post(lost);
  held.open();
  await Promise.all([first.text(), second.text()]);
  const expected = { texts: ['One?', 'One.'], queued: [['Two?', 'failed']] };
  await expect.poll(shown).toEqual(expected);
  expect((await post(lost)).status).toBe(503);
  expect(await shown()).toEqual(expected);
  await (await post(lost)).text();
  expect(await shown()).toEqual({ texts: ['One?', 'One.', 'Two?', 'Two.'], queued: [] });
});

test('a burst of long messages is written once, in values that the store accepts, and answered in order', async () => {
  const held = gate();
  const store = new MemoryStore({ maxValueBytes: 4000 });
  let writtenChars = 0;
  const setMany = store.setMany.bind(store);
  vi.spyOn(store, 'setMany').mockImplementation(async (written) => {
    for (const [key, value] of written) if (key.startsWith('queue:')) writtenChars += value.length;
    await setMany(written);
  });
  const texts = Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(10_000)}`);
  const replies = texts.map((_, index) => `Reply ${index}`);
  const { post, shown } = openProcess({
    store,
    replies: [{ wait: held.passed, text: 'One.' }, ...replies],
  });
  const first = await post(ask('One?'));
  const statuses: number[] = [];
  for (const text of texts) statuses.push((await post(ask(text), { queue: true })).status);
  expect(new Set(statuses)).toEqual(new Set([202]));
  expect((await post(ask('Too many'), { queue: true })).status).toBe(503);
  const copy = new MemoryStore({ maxValueBytes: 4000 });
  const entries = [...(await store.getMany(await store.keys('')))];
  for (const [, value] of entries) expect(value.length).toBeLessThanOrEqual(4000);
  await copy.setMany(entries);
  held.open();
  await first.text();
  const expected = ['One?', 'One.', ...texts.flatMap((text, index) => [text, replies[index]])];
  await expect.poll(async () => (await shown()).texts).toEqual(expected);
  expect(writtenChars).toBeLessThan(2 * texts.join('').length);
  await expect.poll(() => store.keys('queue:')).toEqual([]);
  // Another process that has the store from before answers them, too.
  const restarted = openProcess({ store: copy, replies });
  await expect
    .poll(async () => (await restarted.shown()).texts)
    .toEqual(['One?', ...expected.slice(2)]);
  await expect.poll(() => copy.keys('queue:')).toEqual([]);
});

test.each([
  ['the given ones', { KEY: 'value' }],
  ['an empty object outside a Worker', undefined],
])('the functions of the options get the bindings as they are: %s', async (_name, env) => {
  const seen: Record<string, unknown> = {};
  const handler = createAgentHandler({
    store: storeSessions(new MemoryStore()),
    authorize: (_request, given) => {
      seen['authorize'] = given;
      return { user: 'ann' };
    },
    rateLimit: (given) => {
      seen['rateLimit'] = given;
      return undefined;
    },
    agent: ({ env: given, memory }) => {
      seen['agent'] = given;
      return new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello.']), memory });
    },
  });
  const request = new Request('https://edge.test/api/run', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: 's', input: 'Hi' }),
  });
  const response = await handler.fetch(request, env);
  await response.text();
  expect(response.status).toBe(200);
  const bindings = env ?? {};
  expect(seen).toEqual({ authorize: bindings, rateLimit: bindings, agent: bindings });
});
