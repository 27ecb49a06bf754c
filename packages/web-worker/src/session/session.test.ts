import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { countedSignal } from '../../test-support/counted-signal.ts';
import type { RunReader } from './runs/run-feed.ts';
import { Session } from './session.ts';

const reader: RunReader = {
  begin() {},
  add() {},
  isReady: true,
  ready: () => Promise.resolve(),
  onFailure: undefined,
};

test('a reader that finds no run to resume leaves no listener on its signal', async () => {
  const session = new Session({
    factory: () => new ReActAgent({ name: 'a', sessionId: 's', model: new ScriptedModel([]) }),
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
  const { signal, listenerCount } = countedSignal();
  const resumed = session.resume({ pageId: 'p' }, new AbortController(), reader, signal);
  expect(listenerCount()).toBeGreaterThan(0);
  expect(await resumed).toBeUndefined();
  expect(listenerCount()).toBe(0);
  await session.close();
});
