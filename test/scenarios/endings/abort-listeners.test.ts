import { beforeEach, expect, test, vi } from 'vitest';
import { oxygent } from '@isoloop/presets';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { look } from '../../support/plain-tools.ts';
import type { Middleware } from '@isoloop/core';

const rounds = 20;
const callsPerRound = 10;

/** Listeners that have not been removed, by their target. */
let listeners: WeakMap<EventTarget, Set<unknown>>;

beforeEach(() => {
  listeners = new WeakMap();
  const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
  vi.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(function (
    this: EventTarget,
    ...given: Parameters<typeof add>
  ) {
    listenersOf(this).add(given[1]);
    add.apply(this, given);
  });
  vi.spyOn(EventTarget.prototype, 'removeEventListener').mockImplementation(function (
    this: EventTarget,
    ...given: Parameters<typeof remove>
  ) {
    listenersOf(this).delete(given[1]);
    remove.apply(this, given);
  });
});

function listenersOf(target: EventTarget): Set<unknown> {
  const known = listeners.get(target) ?? new Set();
  listeners.set(target, known);
  return known;
}

const passOn: Middleware = {
  wrapTool: (call, next) => next(call),
};

test.each([
  ['two wrapTool', [passOn, passOn]],
  ['oxygent()', [oxygent(), passOn]],
] as const)(
  'with %s, the run keeps no abort listener of a tool call that has ended',
  async (_, use) => {
    const counts: number[] = [];
    const signals = new Set<AbortSignal>();
    const count: Middleware = {
      wrapTool: (call, next, run) => {
        signals.add(run.signal);
        return next(call);
      },
      on: {
        'pre-reasoning': (_event, { signal }) => {
          signals.add(signal);
          let sum = 0;
          for (const one of signals) sum += listenersOf(one).size;
          counts.push(sum);
        },
      },
    };
    const round = Array.from({ length: callsPerRound }, () => ({ name: 'look', input: {} }));
    const replies = Array.from({ length: rounds }, () => ({ toolCalls: round }));
    const { agent } = scriptedAgent([...replies, 'Done.'], {
      tools: [look],
      limits: { iterations: rounds + 1 },
      use: [count, ...use],
    });
    await agent.call('Go.').catch(() => {});
    expect(counts.length).toBeGreaterThan(10);
    expect(counts.at(-1)).toBeLessThanOrEqual(counts[1]! + 1);
  },
);
