import type { CallInput } from './call-input.ts';
import type { Extension } from './extension.ts';
import type { Run } from './run.ts';

export interface PerRun<T> {
  /** Of a run that goes on. */
  get(runId: string): T | undefined;
  /** For the extension that keeps it. */
  readonly wrapCall: NonNullable<Extension['wrapCall']>;
}

/**
 * What an extension keeps for each run while it goes on; several agents may share the extension.
 */
export function perRun<T>(begin: (run: Run, input: CallInput | undefined) => T): PerRun<T> {
  const kept = new Map<string, T>();
  return {
    get: (runId) => kept.get(runId),
    wrapCall: (next) =>
      async function* (run, input) {
        kept.set(run.id, begin(run, input));
        try {
          return yield* next(run, input);
        } finally {
          kept.delete(run.id);
        }
      },
  };
}
