import { AgentError } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';

/** Returns a function whose first call warns of a second writer in a store without `compareAndSet`. */
export function secondWriterWarning(
  onWarning: ((warning: AgentError) => void) | undefined,
): () => void {
  let isFirst = true;
  return () => {
    if (!isFirst) return;
    isFirst = false;
    const message =
      'Another writer changed the session. The store has no compareAndSet, so records can be lost.';
    reportFailure('SessionMemory:', onWarning, new AgentError('SESSION_CONFLICT', message));
  };
}
