import { expect, test } from 'vitest';
import { extent, seeds } from '@test/test-extent.ts';
import {
  maxValueBytes,
  secret,
  sessionIds,
  storedSessions,
  storedTurns,
} from '@test/support/damage/conversations.ts';
import { mutations, type MutationSources, type Values } from '@test/support/damage/mutations.ts';
import { outcomeOf, outcomeOfRest, readSession, type Open } from '@test/support/damage/outcome.ts';
import { weakStore } from '@test/support/weak-store.ts';
import { EchoMemory } from '../../../../edge/src/kv/log/echo-memory.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';

interface Case {
  readonly sources: MutationSources;
  /** Values that the store has before a change. A later entry overwrites an earlier one. */
  readonly values: readonly Values[];
  /** Opens the session of a store. */
  readonly open: (store: MemoryStore, options: Parameters<Open>[0]) => SessionMemory;
}

/**
 * Makes the random changes of a seed. Returns the changes that altered the conversation without a
 * report.
 */
async function problemsOf(
  { sources, values, open }: Case,
  seed: number,
): Promise<readonly string[]> {
  const reader = async (changes: Values): Promise<Open> => {
    const store = new MemoryStore({ maxValueBytes });
    for (const each of [...values, changes]) await store.setMany([...each]);
    return (options) => open(store, options);
  };
  const expected = await readSession((await reader(new Map()))({}));
  const problems: string[] = [];
  const stride = extent({ quick: 4, full: 1 });
  const all = mutations(sources, seed);
  for (const { kind, changes } of all.filter((_each, index) => index % stride === 0)) {
    const changed = [...changes.keys()];
    const openChanged = await reader(changes);
    for (const judge of [outcomeOf, outcomeOfRest]) {
      const outcome = await judge(openChanged, expected, changed);
      if (outcome !== 'same' && outcome !== 'reported')
        problems.push(`${outcome}: ${kind} of ${changed.join()}, seed ${seed}, ${judge.name}`);
    }
  }
  return problems;
}

function ownOf(values: Values, sessionId: string): Values {
  return new Map([...values].filter(([key]) => key.startsWith(`s:${sessionId}:`)));
}

const stores: readonly (readonly [string, (store: MemoryStore) => KeyValueStore])[] = [
  ['a store with compare-and-set', (store) => store],
  ['a store without compare-and-set', weakStore],
];

test.for(stores)(
  'with %s, each change of a stored session is detected, and the report names the record',
  async ([, storeOf]) => {
    const values = await storedSessions('bread');
    const elsewhere = await storedSessions('salad');
    const problems: string[] = [];
    for (const seed of seeds({ quick: 1, full: 20 })) {
      for (const sessionId of sessionIds) {
        const other = ownOf(values, sessionId === 'plain' ? 'edited' : 'plain');
        const sources = {
          own: ownOf(values, sessionId),
          others: [other, ownOf(elsewhere, sessionId)],
        };
        const open: Case['open'] = (store, options) =>
          new SessionMemory(storeOf(store), sessionId, options);
        problems.push(...(await problemsOf({ sources, values: [values], open }, seed)));
      }
    }
    expect(problems).toEqual([]);
  },
);

test('each change of a stored EchoMemory session is detected, with every echo that a client may have', async () => {
  const { values, echoes } = await storedTurns('turns', 'bread');
  const { values: sameKeys } = await storedTurns('turns', 'salad');
  const { values: another } = await storedTurns('others', 'salad', 5);
  const problems: string[] = [];
  for (const seed of seeds({ quick: 1, full: 30 })) {
    for (const [name, echo] of echoes.filter((_each, index) => index % 3 === seed % 3)) {
      const open: Case['open'] = (store, options) =>
        new EchoMemory(weakStore(store), 'turns', {
          secrets: [secret],
          ...(echo !== undefined && { echo }),
          withoutEcho: 'latest',
          waitMs: 0,
          now: () => 1_100_000,
          ...options,
        });
      const sources = { own: values, others: [another, sameKeys] };
      const found = await problemsOf({ sources, values: [values, another], open }, seed);
      problems.push(...found.map((problem) => `${problem}, echo ${name}`));
    }
  }
  expect(problems).toEqual([]);
});
