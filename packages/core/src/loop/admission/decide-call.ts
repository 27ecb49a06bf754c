import { AgentError } from '../../error/agent-error.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { Run } from '../run/run.ts';
import { checkDecision } from '../input/check-decision.ts';
import { admitCall, reasonOf, suspend, type Admission } from './admit-call.ts';

/**
 * Asks the `decide` of each middleware about a tool call that needs approval. The run waits for the
 * answer. Without an answer, the tool call stays pending. Returns any other admission unchanged.
 */
export async function decideCall(run: Run, admission: Admission): Promise<Admission> {
  if (admission.type !== 'ready') return admission;
  const { open, call } = admission;
  if (!call.ok || !call.needs || open.decision) return admission;
  const { toolUse } = call;
  const { memory } = run.setup;
  const pending = suspend(run, toolUse, 'approval', reasonOf(call.needs));
  // The log marks the tool call as suspended during the decision. If the process ends now, the next
  // run knows that the tool has not started.
  const note = { kind: 'suspended', calls: [{ pending, toolUse }] } as const;
  await run.writes.wait(memory.note?.([note], { now: true }));
  const decision = await ask(run, pending).catch((error: unknown) => {
    // The run closes the call after an abort or interrupt, and keeps it pending after a pause.
    if (!run.cut) throw error;
  });
  if (!decision) return { type: 'pending' };
  await run.writes.wait(memory.note?.([{ kind: 'decision', decision }]));
  return admitCall(run, toolUse, decision);
}

async function ask(run: Run, pending: PendingCall): Promise<Decision | undefined> {
  for (const part of run.setup.use) {
    const deciding = part.decide?.(pending, run.context, run.stopSignal);
    const verdict = await run.waits.code(deciding);
    if (!verdict) continue;
    const { toolUseId, name } = pending;
    const decision: unknown = { toolUseId, name, ...verdict };
    checkDecision(decision, 'The verdict', 'INVALID_DECISION');
    const isAbout = decision.toolUseId === toolUseId && decision.name === name;
    if (isAbout && decision.type !== 'result') return decision;
    throw new AgentError('INVALID_DECISION', `The verdict does not decide about "${name}".`);
  }
  return undefined;
}
