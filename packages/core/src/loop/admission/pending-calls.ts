import type { PendingCall } from '../../event/pending-call.ts';
import type { Run } from '../run/run.ts';

/** Returns what the open tool calls wait for, in the order of the tool calls. */
export function pendingCalls(run: Run): readonly PendingCall[] {
  const { calls } = run.setup.status;
  return run.openCalls().flatMap(({ id }) => calls.get(id)?.pending ?? []);
}
