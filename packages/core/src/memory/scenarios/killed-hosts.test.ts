import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { LogNote } from '../log/log-record.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';
import type { Msg } from '../../message/msg.ts';
import {
  injectFaults,
  localHost,
  spreadPoints,
  type FaultScenario,
} from '@test/faults/inject-faults.ts';
import { faultScenarios } from '@test/faults/fault-scenarios.ts';
import type { MortalProcess } from '@test/faults/mortal-process.ts';
import { randomOf } from '@test/random-of.ts';
import { weakStore } from '@test/support/weak-store.ts';

const scenarios = faultScenarios().map((scenario) => [scenario.name, scenario] as const);

test.for(scenarios)(
  '%s: the run recovers when its host is killed at every point',
  async ([, scenario], { task }) => {
    const report = await injectFaults(scenario, {
      makeHost: () => localHost(scenario, new MemoryStore({ maxValueBytes: 2000 })),
    });
    Object.assign(task.meta, { faults: { store: 'MemoryStore', ...report } });
    expect(report.kills).toBe(report.points);
    expect(report.points).toBeGreaterThan(30);
    expect(report.faults.slice(0, 2)).toEqual([]);
  },
);

test.for(scenarios)(
  '%s: the run recovers on a store without guarantees when its host is killed at some points, and killed again',
  async ([, scenario], { task }) => {
    const seed = 7;
    const random = randomOf(seed);
    const most = extent({ quick: 12, full: Infinity });
    const again = (): readonly number[] =>
      Array.from({ length: 4 }, () => Math.floor(random() * 40));
    const report = await injectFaults(scenario, {
      makeHost: () => localHost(scenario, weakStore()),
      points: spreadPoints(most),
      again,
    });
    Object.assign(task.meta, {
      faults: { store: 'without compare-and-set, killed twice', ...report },
    });
    expect(report.kills).toBe(Math.min(most, report.points) * 5);
    expect(report.faults.slice(0, 2), `seed ${seed}`).toEqual([]);
  },
);

/** Creates a scenario that runs the same conversation on the given memory. */
function withMemory(make: (process: MortalProcess) => SessionMemory): FaultScenario {
  return {
    name: 'broken',
    turns: ['Go.', 'Again.'],
    open: (process) =>
      new ReActAgent({
        name: 'a',
        sessionId: 's',
        memory: make(process),
        tools: [process.tool({ name: 'step', description: '', input: {}, execute: () => 'done' })],
        model: process.model(({ messages }) => {
          const id = `call ${messages.filter(({ role }) => role === 'user').length}`;
          return messages.at(-1)?.role === 'tool'
            ? 'Done.'
            : {
                toolCalls: [
                  { name: 'step', id },
                  { name: 'step', id: `${id} too` },
                ],
              };
        }),
      }),
  };
}

class NoNotes extends SessionMemory {
  override async note(_notes: readonly LogNote[]): Promise<void> {}
}

class EarlyAcknowledgement extends SessionMemory {
  readonly #kept: Set<string>;

  constructor({ store, witness }: MortalProcess) {
    super(store, 's');
    this.#kept = witness.kept.get('s') ?? new Set();
    witness.kept.set('s', this.#kept);
  }

  override async append(messages: readonly Msg[]): Promise<void> {
    void super.append(messages).catch(() => {});
    for (const { id } of messages) this.#kept.add(id);
  }
}

class LostResults extends SessionMemory {
  override async append(messages: readonly Msg[]): Promise<void> {
    await super.append(messages.filter(({ role }) => role !== 'tool'));
  }
}

test.for([
  [
    'a memory that forgets that calls have started',
    /ran 2 times/,
    (process: MortalProcess) => new NoNotes(process.store, 's'),
  ],
  [
    'a memory that acknowledges before it has written',
    /is lost/,
    (process: MortalProcess) => new EarlyAcknowledgement(process),
  ],
  [
    'a memory that loses results',
    /Send decisions or results/,
    (process: MortalProcess) => new LostResults(process.store, 's'),
  ],
] as const)('injectFaults() detects %s', async ([, fault, make]) => {
  const scenario = withMemory(make);
  const report = await injectFaults(scenario, {
    makeHost: () => localHost(scenario, new MemoryStore()),
  }).catch((error: unknown) => ({
    faults: [String(error)],
  }));
  expect(report.faults.join('\n')).toMatch(fault);
});

test('injectFaults() reports nothing for a memory without a fault', async () => {
  const scenario = withMemory((process) => process.memory('s'));
  const { faults } = await injectFaults(scenario, {
    makeHost: () => localHost(scenario, new MemoryStore()),
  });
  expect(faults).toEqual([]);
});
