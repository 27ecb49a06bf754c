import {
  MemoryStore,
  ReActAgent,
  SessionMemory,
  userMessage,
  type AgentResult,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { SessionPages } from '../page/session-pages.ts';
import { IndexedDbMemory } from '../../store/indexed-db-memory.ts';
import { IndexedDbStore } from '../../store/indexed-db-store.ts';
import type { TabOutcome } from '../../wire/tab-protocol.ts';
import { RunFeed } from './run-feed.ts';
import { SessionRuns } from './session-runs.ts';
import { testDatabase } from '../../../test-support/database.ts';

/** Returns the runs of a session whose agent answers once with `reply`. */
function runsOf(
  reply: string,
  memoryOf: () => SessionMemory,
  options: Partial<ConstructorParameters<typeof SessionRuns>[0]> = {},
): SessionRuns {
  return new SessionRuns({
    factory: () =>
      new ReActAgent({
        name: 'a',
        sessionId: 's',
        model: new ScriptedModel([reply]),
        memory: memoryOf(),
      }),
    agentName: undefined,
    sessionId: 's',
    options: {},
    pages: new SessionPages(),
    previousClosed: undefined,
    isShared: false,
    takesOver: false,
    feed: new RunFeed(),
    outputs: {},
    ...options,
  });
}

/** Stores a run that a killed worker left behind. Returns a function that opens its memory. */
async function lostRun(): Promise<() => IndexedDbMemory> {
  const database = testDatabase();
  const memoryOf = () => new IndexedDbMemory('s', { store: new IndexedDbStore({ database }) });
  const lost = memoryOf();
  await lost.note([{ kind: 'run-begin', runId: 'lost' }]);
  await lost.append([userMessage('go')]);
  await lost.flush();
  return memoryOf;
}

test('the second of two concurrent requests to resume a run joins the run of the first request', async () => {
  const memoryOf = await lostRun();
  const told: string[] = [];
  const feed = new RunFeed();
  const runs = runsOf('once', memoryOf, { isShared: true, feed });
  feed.onPublish = (events) => void told.push(...events.map(({ type }) => type));
  const resume = async (
    requestId: string,
  ): Promise<readonly [AgentResult | undefined, boolean]> => {
    const { signal } = new AbortController();
    const result = await runs.perform({
      requestId,
      tabId: 'tab',
      task: { type: 'resume', asker: { pageId: 'p' } },
      signal,
    });
    return [result, told.includes('run-start')];
  };
  const [first, second] = await Promise.all([resume('one'), resume('two')]);
  expect(first[0]).toMatchObject({ reason: 'stop', text: 'once' });
  expect(second).toEqual([undefined, true]);
  await runs.close();
});

test('a request to resume during a takeover joins the continued run', async () => {
  const memoryOf = await lostRun();
  const feed = new RunFeed();
  const runs = runsOf('once', memoryOf, { isShared: true, takesOver: true, feed });
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const controller = new AbortController();
  const continued = runs.continueRun(controller, async (agent, onStart, onShown) => {
    await opened;
    return runs.forward(agent.stream(), {
      requestId: 'lost',
      controller,
      start: {},
      attempts: 1,
      gap: 0,
      outputName: undefined,
      asker: undefined,
      onStart,
      onShown,
    });
  });
  const { signal } = new AbortController();
  const task = { type: 'resume', asker: { pageId: 'p' } } as const;
  const resumed = runs
    .perform({ requestId: 'two', tabId: 'tab', task, signal })
    .then(() => feed.activeRun?.requestId);
  await runs.agent();
  open();
  // The session then joins the run that its readers have.
  expect(await resumed).toBe('lost');
  expect(await continued).toMatchObject({ text: 'once' });
  await runs.close();
});

test('a message is not refused while another page asks for a run to resume', async () => {
  let [onRead, open] = [(): void => {}, (): void => {}];
  const read = new Promise<void>((resolve) => (onRead = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  class HeldStore extends MemoryStore {
    override async get(key: string) {
      onRead();
      await opened;
      return super.get(key);
    }
  }
  const runs = runsOf('Yes.', () => new SessionMemory(new HeldStore(), 's'));
  const { signal } = new AbortController();
  const request = { tabId: 'tab', signal };
  const asker = { pageId: 'p' };
  const resumed = runs.perform({ ...request, requestId: 'one', task: { type: 'resume', asker } });
  await read;
  const answer = runs.perform({
    ...request,
    requestId: 'two',
    task: { type: 'chat', request: { kind: 'message', message: userMessage('go') }, asker },
  });
  answer.catch(() => {});
  // A refusal needs no store.
  await runs.agent();
  open();
  expect(await answer).toMatchObject({ reason: 'stop', text: 'Yes.' });
  expect(await resumed).toBeUndefined();
  await runs.close();
});

test('without tabs, a call fails with SESSION_CONFLICT if another writer has claimed the session’s log', async () => {
  const database = testDatabase();
  const memoryOf = () => new IndexedDbMemory('s', { store: new IndexedDbStore({ database }) });
  const [mine, theirs] = [memoryOf(), memoryOf()];
  await mine.claim({ write: true });
  await theirs.claim({ write: true });
  const runs = runsOf('never', () => mine);
  const { signal } = new AbortController();
  const body = {
    type: 'task',
    task: { type: 'run', input: 'go', options: {}, asker: { pageId: 'p' } },
  } as const;
  const settled = new Promise<TabOutcome>((resolve) => {
    void runs.serve({ requestId: 'one', tabId: 'tab', body, signal }, resolve);
  });
  expect(await settled).toMatchObject({ ok: false, error: { code: 'SESSION_CONFLICT' } });
  await runs.close();
});
