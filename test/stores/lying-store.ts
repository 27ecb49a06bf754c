import { AgentError, type KeyValueStore } from '@isoloop/core';

/** Kinds of wrong answers to a conditional write, `compareAndSet` or `setManyIf`. */
export const lies = [
  'wrote but said no',
  'said no and wrote later',
  'said yes but did not write',
  'lost the answer',
  'wrote twice',
] as const;

export type Lie = (typeof lies)[number];

export interface LyingStore {
  readonly store: KeyValueStore;
  /** Returns whether the store has lied. */
  readonly hasLied: () => boolean;
}

/**
 * Returns a store that gives a wrong answer to one conditional write, as a client does that repeats
 * requests after a timeout. `at`: index of that write. All other answers are right.
 */
export function lyingStore(inner: KeyValueStore, lie: Lie, at: number): LyingStore {
  let writes = 0;
  let late: (() => Promise<unknown>) | undefined;
  const catchUp = async (): Promise<void> => {
    const write = late;
    late = undefined;
    await write?.();
  };
  const decide = async (write: () => Promise<boolean>): Promise<boolean> => {
    await catchUp();
    const isLie = writes === at;
    writes += 1;
    if (!isLie) return write();
    switch (lie) {
      case 'wrote but said no':
        await write();
        return false;
      case 'said no and wrote later':
        late = write;
        return false;
      case 'said yes but did not write':
        return true;
      case 'lost the answer':
        await write();
        throw new AgentError('STORAGE_FAILED', 'The answer was lost.', { retryable: true });
      case 'wrote twice': {
        const answer = await write();
        await write();
        return answer;
      }
    }
  };
  const { compareAndSet, setManyIf } = inner;
  const store: KeyValueStore = {
    features: inner.features,
    get: (key) => inner.get(key),
    getMany: (keys) => inner.getMany(keys),
    keys: (prefix) => inner.keys(prefix),
    set: (key, value) => inner.set(key, value),
    setMany: (entries) => inner.setMany(entries),
    delete: (keys) => inner.delete(keys),
    ...(compareAndSet && {
      compareAndSet: (key: string, expected: string | undefined, value: string) =>
        decide(() => compareAndSet.call(inner, key, expected, value)),
    }),
    ...(setManyIf && {
      setManyIf: (...write: Parameters<typeof setManyIf>) =>
        decide(() => setManyIf.apply(inner, write)),
    }),
  };
  return { store, hasLied: () => writes > at };
}
