import { expect, test, vi } from 'vitest';
import { bindings, testEndpoint, type TestEnv } from '../../test-support/endpoint.ts';
import { KvMemory } from '../kv/kv-memory.ts';
import { chat, endpoint, newChat } from '../../test-support/tool-endpoint.ts';
import { errorOf, refusalOf, spyOn } from '../../test-support/refusals.ts';
import { ask } from '../../test-support/session-client.ts';
import { InMemoryMemory, MemoryStore } from '@isoloop/core';
import { kvSessions } from '../kv/index.ts';
import {
  defaultLimits,
  defaultSessions,
  type HandlerSettings,
} from '../settings/handler-options.ts';
import { storeSessions } from '../store/index.ts';
import { sessionHomes } from './homes.ts';

test('a missing KV namespace fails with CONFIGURATION, and the option `memory` can store messages elsewhere', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const { handler } = endpoint([]);
  const request = new Request('https://edge.test/api/chat/a/messages', {
    headers: { authorization: 'Bearer ann' },
  });
  const response = await handler.fetch(request, {} as TestEnv);
  expect([response.status, (await errorOf(response)).code]).toEqual([500, 'CONFIGURATION']);
  log.mockRestore();

  const places: string[] = [];
  const target = endpoint(['Hi.'], {
    memory: ({ env: given, user, sessionId }) => {
      places.push(`${user} ${sessionId}`);
      return new KvMemory(given.CHAT_KV, `mine-${user}-${sessionId}`);
    },
  });
  const id = newChat();
  await chat(target, id, [ask('Hi')]);
  expect(places).toEqual([`ann ${id}`]);
  expect((await new KvMemory(bindings.CHAT_KV, `mine-ann-${id}`).read()).length).toBe(2);
});

test('without a place for conversations, the log says what to bind or pass', async () => {
  const log = spyOn('error');
  const target = testEndpoint([], {}, { kv: undefined as never });
  for (const answer of [target.get('/api/chats'), target.get('/api/chat/c1/messages')]) {
    const [status, error] = await refusalOf(answer);
    expect([status, error.code]).toEqual([500, 'CONFIGURATION']);
    expect(error.message).not.toContain('CHAT_KV');
  }
  expect(log.mock.calls.map(([line]) => line)).toEqual(
    Array.from({ length: 2 }, () =>
      expect.stringContaining("import { kvSessions } from '@isoloop/edge/kv';"),
    ),
  );
});

test('a store and a memory at once are refused', () => {
  const options = { store: storeSessions(new MemoryStore()), memory: () => new InMemoryMemory() };
  expect(() => testEndpoint([], {}, options)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: 'createAgentHandler(): give either store or memory.',
    }),
  );
});

const objects = { CHAT_SESSION: { idFromName: () => 'id', get: () => ({}) } };
const namespace = { CHAT_KV: {} };
const memory = (): InMemoryMemory => new InMemoryMemory();
const kv = kvSessions();
const store = storeSessions(new MemoryStore());

test.each<[what: string, options: Partial<HandlerSettings>, env: object, home: object]>([
  ['a store', { store, kv }, { ...objects, ...namespace }, { kind: 'store' }],
  ['CHAT_SESSION', { kv }, { ...objects, ...namespace }, { kind: 'object', hasMessages: true }],
  ['CHAT_SESSION', { memory, kv }, objects, { kind: 'object', hasMessages: false }],
  ['a memory', { memory, kv }, namespace, { kind: 'memory' }],
  ['CHAT_KV', { kv }, namespace, { kind: 'kv', namespace: namespace.CHAT_KV }],
  ['no place, as nothing is bound,', { kv }, {}, { kind: 'none' }],
  ['no place, as `kv` is not set,', {}, namespace, { kind: 'none' }],
])('conversations live in %s (%#)', (_what, options, env, home) => {
  const agent = () => ({}) as never;
  const required = { agent, models: ['m'], limits: defaultLimits, sessions: defaultSessions };
  expect(sessionHomes({ ...required, ...options })(env)).toMatchObject(home);
});
