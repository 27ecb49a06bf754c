import type { CallInput } from '../call-input.ts';
import type { AgentCall } from './middleware.ts';
import type { RunContext } from '../run/run-context.ts';

export interface PerRun<T> {
  /** Of a run that goes on. */
  get(runId: string): T | undefined;
  /** For the middleware that keeps it. */
  readonly wrapRun: (next: AgentCall) => AgentCall;
}

/** What a middleware keeps for each run while it goes on; several agents may share the middleware. */
export function perRun<T>(
  begin: (context: RunContext, input: CallInput | undefined) => T,
): PerRun<T> {
  const kept = new Map<string, T>();
  return {
    get: (runId) => kept.get(runId),
    wrapRun: (next) => async (input, context) => {
      kept.set(context.runId, begin(context, input));
      try {
        return await next(input, context);
      } finally {
        kept.delete(context.runId);
      }
    },
  };
}
