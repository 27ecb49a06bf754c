import { ReActAgent, type ChatModel } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { countedSignal } from '../../test-support/counted-signal.ts';
import { nextMacrotask } from '../wire/macrotask.ts';
import type { RunReader } from './runs/run-feed.ts';
import { Session } from './session.ts';

const reader: RunReader = {
  begin() {},
  add() {},
  isReady: true,
  ready: () => Promise.resolve(),
  onFailure: undefined,
};

/** Creates a session in one tab, with the agent that `factory` returns. */
const sessionOf = (factory: () => ReActAgent | Promise<ReActAgent>): Session =>
  new Session({
    factory,
    agentName: undefined,
    sessionId: 's',
    options: {},
    outputs: {},
    previousClosed: undefined,
    key: 's',
    lock: undefined,
    tabs: undefined,
    startTabs: () => {
      throw new Error('This session has no tabs.');
    },
  });

const agentWith = (model: ChatModel): ReActAgent =>
  new ReActAgent({ name: 'a', sessionId: 's', model });

const asker = { pageId: 'p' };
const task = { type: 'run', input: 'go', options: {}, asker } as const;

test('a reader that finds no run to resume leaves no listener on its signal', async () => {
  const session = sessionOf(() => agentWith(new ScriptedModel([])));
  const { signal, listenerCount } = countedSignal();
  const resumed = session.resume(asker, new AbortController(), reader, signal);
  expect(listenerCount()).toBeGreaterThan(0);
  expect(await resumed).toBeUndefined();
  expect(listenerCount()).toBe(0);
  await session.close();
});

test('a reader that has left a run does not stop it when its signal aborts later', async () => {
  let answer = (): void => {};
  const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
  const session = sessionOf(() =>
    agentWith({
      provider: 'p',
      modelId: 'm',
      features: { tools: true, media: [] },
      async *stream() {
        await mayAnswer;
        yield [{ type: 'text', id: 't', delta: 'Hello' }];
        yield [{ type: 'finish', reason: 'stop' }];
      },
    }),
  );
  const started = new Promise<void>((resolve) => {
    session.watch(() => resolve());
  });
  const result = session.run(task, new AbortController());
  await started;
  const [controller, leaving] = [new AbortController(), new AbortController()];
  const resumed = session.resume(asker, controller, reader, leaving.signal);
  leaving.abort();
  expect(await resumed).toBeUndefined();
  controller.abort();
  answer();
  expect(await result).toMatchObject({ text: 'Hello', reason: 'stop' });
  await session.close();
});

test('a reader that has left before it resumes does not wait for a run that starts', async () => {
  let create = (): void => {};
  const mayCreate = new Promise<void>((resolve) => (create = resolve));
  const session = sessionOf(async () => {
    await mayCreate;
    return agentWith(new ScriptedModel(['Hello']));
  });
  const result = session.run(task, new AbortController());
  const resumed = session.resume(asker, new AbortController(), reader, AbortSignal.abort());
  const first = await Promise.race([
    resumed.then(() => 'left'),
    nextMacrotask().then(() => 'waiting'),
  ]);
  create();
  await Promise.all([result, resumed]);
  expect(first).toBe('left');
  await session.close();
});
