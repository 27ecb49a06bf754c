import { AgentError, MemoryStore, SessionMemory, userMessage } from '@isoloop/core';
import { moveSession, storePlace, type SessionPlace } from '@isoloop/core/move';
import { browserPlace, movableSessions, type MovableSessions } from '@isoloop/web-worker/move';
import { agentWorker } from '@isoloop/web-worker';
import {
  useAgentChat,
  useMovableSession,
  type AgentChatHelpers,
  type MovableSession,
  type UseMovableSessionOptions,
} from '@isoloop/react';
import { createElement, StrictMode, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server.browser';
import { expect, onTestFinished, test, vi } from 'vitest';
import { testDatabase } from '../../../web-worker/test-support/database.ts';

type Name = 'tab' | 'edge';
type Sessions = MovableSessions<Name>;

const places = (): Readonly<Record<Name, SessionPlace & { readonly store: MemoryStore }>> => {
  const at = (name: string) => {
    const store = new MemoryStore();
    return { ...storePlace({ name, store }), store };
  };
  return { tab: at('browser:1'), edge: at('https://edge.test/api/chat') };
};

/** Mounts a component with the hook, as one tab does. */
function mount(
  sessions: Sessions,
  sessionId: string,
  options: UseMovableSessionOptions<Name> = { initial: 'tab' },
) {
  const shown: MovableSession<Name>[] = [];
  function View({ id }: { readonly id: string }): ReactNode {
    const session = useMovableSession(sessions, id, options);
    useEffect(() => void shown.push(session));
    return null;
  }
  const root = createRoot(document.createElement('div'));
  const render = (id: string): void =>
    root.render(createElement(StrictMode, null, createElement(View, { id })));
  render(sessionId);
  onTestFinished(() => root.unmount());
  const last = (): MovableSession<Name> => shown.at(-1)!;
  const place = (): Name | undefined => shown.at(-1)?.place;
  return { shown, last, place, render, unmount: () => root.unmount() };
}

async function stored({ store }: { readonly store: MemoryStore }): Promise<string> {
  const sessionId = crypto.randomUUID();
  const memory = new SessionMemory(store, sessionId);
  await memory.claim();
  await memory.append([userMessage('Hi')]);
  return sessionId;
}

test('a move shows the new place when the conversation is there, and a second tab follows', async () => {
  const given = places();
  const sessionId = await stored(given.tab);
  const moves: string[] = [];
  const one = mount(movableSessions(given), sessionId, {
    initial: 'edge',
    onMove: (place) => moves.push(place),
  });
  const seen: { isMoving?: () => Promise<unknown> } = {};
  // The move ends when the page has shown it.
  const slow: SessionPlace = {
    ...given.edge,
    put: async (copy) => {
      await seen.isMoving?.();
      await given.edge.put(copy);
    },
  };
  const other = mount(movableSessions({ ...given, edge: slow }), sessionId);
  seen.isMoving = () => vi.waitUntil(() => other.last().isMoving);
  await expect.poll(one.place).toBe('tab');
  await expect.poll(other.place).toBe('tab');
  const { moveTo } = other.last();
  await moveTo('edge');
  await expect.poll(one.place).toBe('edge');
  await expect.poll(other.place).toBe('edge');
  const during = other.shown.filter(({ isMoving }) => isMoving).map(({ place }) => place);
  expect(new Set(during)).toEqual(new Set(['tab']));
  expect(other.last().moveTo).toBe(moveTo);
  expect(moves).toEqual(['tab', 'edge']);
});

test('a failed move leaves the conversation at its place, with the error', async () => {
  const given = places();
  const sessionId = await stored(given.tab);
  const down = { ...given.edge, put: () => Promise.reject(new Error('down')) };
  const one = mount(movableSessions({ ...given, edge: down }), sessionId);
  await expect.poll(one.place).toBe('tab');
  await one.last().moveTo('edge');
  await expect.poll(() => one.last().error?.message).toBe('down');
  expect(one.last()).toMatchObject({ place: 'tab', isMoving: false });
});

test('an error after the new place became the owner shows the new place', async () => {
  const given = places();
  const sessionId = await stored(given.tab);
  let fails = true;
  const edge: SessionPlace = {
    ...given.edge,
    setOwner: (...args) =>
      fails ? Promise.reject(new Error('lost')) : given.edge.setOwner(...args),
  };
  const sessions = movableSessions({ ...given, edge });
  const one = mount(sessions, sessionId);
  await expect.poll(one.place).toBe('tab');
  await one.last().moveTo('edge');
  await expect.poll(() => one.last().error?.message).toBe('lost');
  fails = false;
  one.last().follow(new AgentError('SESSION_MOVED', 'moved'));
  await expect.poll(one.place).toBe('edge');
});

test('a page follows a move of another browser when an answer fails with SESSION_MOVED', async () => {
  const given = places();
  const sessionId = await stored(given.edge);
  const one = mount(movableSessions(given), sessionId, { initial: 'tab', look: false });
  await expect.poll(one.place).toBe('tab');
  one.last().follow(new AgentError('AGENT_BUSY', 'other'));
  one.last().follow(new AgentError('SESSION_MOVED', 'moved'));
  await expect.poll(one.place).toBe('edge');
});

test('a new conversation begins at its first place, and moves without being stored', async () => {
  const one = mount(movableSessions(places()), crypto.randomUUID());
  await expect.poll(one.place).toBe('tab');
  await one.last().moveTo('edge');
  await expect.poll(one.place).toBe('edge');
});

test('another conversation gets its own place, and an unmounted page listens no more', async () => {
  const given = places();
  const [first, second] = [await stored(given.tab), await stored(given.edge)];
  const sessions = movableSessions(given);
  const one = mount(sessions, first);
  await expect.poll(one.place).toBe('tab');
  one.render(second);
  await expect.poll(one.place).toBe('edge');
  one.unmount();
  const { length } = one.shown;
  await sessions.moveTo(second, 'tab');
  const witness = mount(sessions, second);
  await expect.poll(witness.place).toBe('tab');
  expect(one.shown).toHaveLength(length);
});

test('a chat in the browser follows a conversation that another browser has moved to the edge', async () => {
  testDatabase('isoloop');
  const worker = new Worker(
    new URL('../../../web-worker/test-support/team-worker.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  const [edge, sessionId] = [places().edge, crypto.randomUUID()];
  const sessions = movableSessions({ tab: browserPlace, edge });
  const shown: { place?: Name | undefined; chat?: AgentChatHelpers } = {};
  function View(): ReactNode {
    const { place, follow } = useMovableSession(sessions, sessionId, { initial: 'tab' });
    const options = { replies: ['Hello.'] };
    const source = agentWorker(worker, { options, timeoutMs: 120_000 });
    const chat = useAgentChat(source, { sessionId, onError: follow });
    useEffect(() => void Object.assign(shown, { place, chat }));
    return null;
  }
  const root = createRoot(document.createElement('div'));
  root.render(createElement(View));
  onTestFinished(() => root.unmount());
  await expect.poll(() => [shown.place, shown.chat?.status]).toEqual(['tab', 'ready']);
  await shown.chat!.sendMessage({ text: 'Hi' });
  // No tab of this browser is told.
  await moveSession(sessionId, { from: await browserPlace(), to: edge });
  await shown.chat!.sendMessage({ text: 'More' });
  await expect.poll(() => shown.place).toBe('edge');
});

test('on a server, the page looks for nothing, and with a known place shows it', () => {
  const none = new Proxy({} as Sessions, {
    get: () => () => {
      throw new Error('A server has no conversations.');
    },
  });
  const Page = ({ look }: { readonly look: boolean }): ReactNode =>
    useMovableSession(none, 's', { initial: 'edge', look }).place ?? 'unknown';
  const shown = [true, false].map((look) => renderToString(createElement(Page, { look })));
  expect(shown).toEqual(['unknown', 'edge']);
});
