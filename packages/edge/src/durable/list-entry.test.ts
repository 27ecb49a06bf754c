import { runInDurableObject } from 'cloudflare:test';
import { AgentError, InMemoryMemory, ReActAgent, userMessage } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test, vi } from 'vitest';
import {
  defaultLimits,
  defaultSessions,
  type HandlerSettings,
} from '../settings/handler-options.ts';
import { given } from '../../test-support/session-client.ts';
import { ListEntry } from './list-entry.ts';
import { ObjectHost } from './object-host.ts';
import type { SessionCommand, SessionRequest } from '../session/commands.ts';

const stub = (): DurableObjectStub => given.TEST_SESSIONS.get(given.TEST_SESSIONS.newUniqueId());

/**
 * Fakes the Durable Object that has the user's session list, and records the commands to that
 * object in `told`.
 */
function listNamespace(told: SessionCommand[]): object {
  const fetch = async (_url: string, { body }: { body: string }): Promise<Response> => {
    told.push((JSON.parse(body) as SessionRequest).command);
    return new Response(null, { status: 204 });
  };
  return { CHAT_SESSION: { idFromName: (name: string) => name, get: () => ({ fetch }) } };
}

test('the session list is updated when a session begins, when it gets its title, and at the end of each answer', async () => {
  await runInDurableObject(stub(), async (_, { storage }) => {
    const told: SessionCommand[] = [];
    const model = new ScriptedModel(['One.', 'Two.', 'Three.']);
    const settings: HandlerSettings = {
      models: ['m'],
      limits: defaultLimits,
      sessions: defaultSessions,
      authorize: () => null,
      agent: ({ memory, sessionId }) =>
        new ReActAgent({ name: 'assistant', memory, sessionId, model }),
    };
    const host = new ObjectHost(storage, listNamespace(told), settings);
    const counts: number[] = [];
    for (const text of ['A', 'B', 'C']) {
      const turn = {
        request: { kind: 'message', message: userMessage(text) },
        model: 'm',
        messageId: text,
        requestId: 'r',
      } as const;
      const command = { type: 'turn', turn, format: { kind: 'ui', events: false } } as const;
      const response = await host.turn(
        { user: 'ann', sessionId: 's', requestId: 'r', command },
        command,
      );
      expect(await response.text()).toContain('[DONE]');
      await expect
        .poll(() => told.filter((each) => each.type === 'put-in-list').length)
        .toBeGreaterThan(counts.at(-1) ?? 2);
      await host.alarm();
      counts.push(told.length);
    }
    expect(counts).toEqual([3, 4, 5]);
    expect(told).toMatchObject([
      { session: { sessionId: 's' } },
      { session: { title: 'A' } },
      { session: { title: 'A' } },
      {},
      {},
    ]);
  });
});

test('a first turn whose alarm cannot be set leaves no session behind, and a second try begins one', async () => {
  await runInDurableObject(stub(), async (_, { storage }) => {
    const told: SessionCommand[] = [];
    const settings: HandlerSettings = {
      models: ['m'],
      limits: defaultLimits,
      sessions: defaultSessions,
      authorize: () => null,
      agent: ({ memory, sessionId }) =>
        new ReActAgent({
          name: 'assistant',
          memory,
          sessionId,
          model: new ScriptedModel(['Hello.']),
        }),
    };
    const host = new ObjectHost(failingOnce(storage, 'setAlarm'), listNamespace(told), settings);
    const turn = {
      request: { kind: 'message', message: userMessage('Hi') },
      model: 'm',
      messageId: 'a',
      requestId: 'r',
    } as const;
    const command = { type: 'turn', turn, format: { kind: 'ui', events: false } } as const;
    const request = { user: 'ann', sessionId: 's', requestId: 'r', command };
    await expect(host.turn(request, command)).rejects.toThrow('setAlarm failed');
    await host.alarm();
    expect([told, storage.kv.get('identity'), await host.messages(request)]).toEqual([
      [],
      undefined,
      [],
    ]);
    expect(await (await host.turn(request, command)).text()).toContain('[DONE]');
    await expect.poll(() => told.length).toBeGreaterThan(0);
    expect(storage.kv.get('identity')).toMatchObject({ user: 'ann', sessionId: 's' });
    await host.alarm();
  });
});

/** Returns a storage whose method `name` rejects at its first call. */
function failingOnce(
  storage: DurableObjectStorage,
  name: 'setAlarm' | 'deleteAlarm',
): DurableObjectStorage {
  let hasFailed = false;
  return new Proxy(storage, {
    get(target, key) {
      if (key === name && !hasFailed) {
        hasFailed = true;
        return () => Promise.reject(new Error(`${name} failed`));
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function entryOf(env: object, memory: InMemoryMemory): ListEntry {
  const identity = { user: 'ann', sessionId: 's', createdAt: 1 };
  return new ListEntry({ env, identity, record: { title: undefined }, memory, changedAt: () => 2 });
}

test('a session whose conversation cannot be read is listed once, without a title', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const told: SessionCommand[] = [];
  const memory = new InMemoryMemory();
  memory.read = () => Promise.reject(new AgentError('STORAGE_FAILED', 'damaged'));
  const env = listNamespace(told);
  const entry = entryOf(env, memory);
  entry.update();
  await entry.whenSent;
  expect(told).toEqual([
    { type: 'put-in-list', session: { sessionId: 's', createdAt: 1, updatedAt: 2 } },
  ]);
  expect(entry.isSent).toBe(true);
  expect(log).toHaveBeenCalledOnce();
  log.mockRestore();
});

test('a failed update of the list is repeated, and a sent one is not', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const told: SessionCommand[] = [];
  const env = listNamespace(told) as { CHAT_SESSION: { get: () => unknown } };
  const { get } = env.CHAT_SESSION;
  const entry = entryOf(env, new InMemoryMemory());
  env.CHAT_SESSION.get = () => ({ fetch: () => Promise.reject(new Error('away')) });
  entry.send();
  await entry.whenSent;
  expect([entry.isSent, told]).toEqual([false, []]);
  env.CHAT_SESSION.get = get;
  for (let time = 0; time < 3; time++) entry.send();
  await entry.whenSent;
  expect([entry.isSent, told.length]).toEqual([true, 1]);
  log.mockRestore();
});
