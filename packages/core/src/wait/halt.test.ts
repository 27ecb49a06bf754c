import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { Halt } from './halt.ts';

const error = (message: string): AgentError => new AgentError('CONFIGURATION', message);

const moves = {
  interrupt: (halt) => halt.stopWith({ kind: 'interrupted' }),
  pause: (halt) => halt.stopWith({ kind: 'suspended' }),
  reject: (halt) => halt.haltWith(new AgentError('GUARD_REJECTED', 'rejected')),
  refuse: (halt) => halt.haltWith(error('refused')),
  abort: (halt) => halt.abort('gone'),
  fail: (halt) => halt.fail(error('failed')),
} satisfies Record<string, (halt: Halt) => void>;

function stateOf({ cause, stopped }: Halt): string | undefined {
  return 'error' in cause ? cause.error.message : stopped;
}

const names = Object.keys(moves) as (keyof typeof moves)[];

test('of two reasons to end a run, the stronger one counts, and of equal ones the first', () => {
  const won = names.map((first) => [
    first,
    ...names.map((second) => {
      const halt = new Halt();
      moves[first](halt);
      moves[second](halt);
      return stateOf(halt);
    }),
  ]);
  expect(won).toEqual([
    // first, then: interrupt, pause, reject, refuse, abort, fail
    ['interrupt', 'interrupted', 'interrupted', 'rejected', 'refused', 'aborted', 'failed'],
    ['pause', 'interrupted', 'suspended', 'rejected', 'refused', 'aborted', 'failed'],
    ['reject', 'rejected', 'rejected', 'rejected', 'refused', 'aborted', 'failed'],
    ['refuse', 'refused', 'refused', 'refused', 'refused', 'refused', 'refused'],
    ['abort', 'aborted', 'aborted', 'aborted', 'refused', 'aborted', 'aborted'],
    ['fail', 'failed', 'failed', 'failed', 'failed', 'failed', 'failed'],
  ]);
});

test('each reason to end a run aborts the signals of those who have to stop', () => {
  const aborted = names.map((name) => {
    const halt = new Halt();
    moves[name](halt);
    const { signal, stopSignal, interruptSignal } = halt;
    const signals = { run: signal, stop: stopSignal, interrupt: interruptSignal };
    const hit = Object.entries(signals).flatMap(([key, one]) => (one.aborted ? key : []));
    return `${name}: ${hit.join(' ')}`;
  });
  expect(aborted).toEqual([
    'interrupt: stop interrupt',
    'pause: stop',
    'reject: ',
    'refuse: ',
    'abort: run stop',
    'fail: run stop',
  ]);
});

test('the end of a run never moves back', () => {
  const halt = new Halt();
  expect(halt.stage).toBe('running');
  halt.enterStage('aborting');
  // The answer of an aborted run passes through `finishing` late.
  halt.enterStage('finishing');
  expect(halt.stage).toBe('aborting');
  halt.enterStage('over');
  halt.enterStage('aborting');
  expect(halt.stage).toBe('over');
});
