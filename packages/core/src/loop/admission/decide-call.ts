import { AgentError } from '../../error/agent-error.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolResult } from '../../message/content-block.ts';
import { prepareCall, type ReadyCall } from '../../tool/prepare-call.ts';
import type { Suspension } from '../../tool/run-call.ts';
import { deniedResult, interruptedResult } from '../../tool/tool-result.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import type { Run } from '../run.ts';
import { reasonOf, suspend } from './admit-call.ts';
import type { Verdict } from './verdict.ts';

type Decided =
  | { readonly type: 'call'; readonly call: ReadyCall }
  | { readonly type: 'outcome'; readonly outcome: ToolResult | Suspension };

/**
 * Notes that a call starts. One that waits for an approval is first answered by the middleware,
 * while the run waits.
 */
export async function decideCall(
  run: Run,
  call: ReadyCall,
  decision: Decision | undefined,
): Promise<Decided> {
  const { toolUse, needs } = call;
  if (!needs || decision) {
    await start(run, call, false);
    return { type: 'call', call };
  }
  const reason = reasonOf(needs);
  const pending = suspend(run, toolUse, 'approval', reason);
  // It has not started: a process that ends while somebody thinks about it leaves a call that waits.
  await run.setup.memory.note?.([{ kind: 'suspended', calls: [{ pending, toolUse }] }], {
    now: true,
  });
  let verdict: Verdict | undefined;
  try {
    verdict = await ask(run, pending);
  } catch (error) {
    if (run.signal.aborted) return over(interruptedResult(toolUse, {}));
    throw error;
  }
  if (!verdict) return over({ suspended: reason ?? 'Nobody has decided yet.', kind: 'approval' });
  if (verdict.type === 'reject') return over(deniedResult(toolUse, verdict.reason));
  let approved: Awaited<ReturnType<typeof prepareCall>> = call;
  if (verdict.type === 'edit') {
    approved = await prepareCall(onlyTool(call.tool), { ...toolUse, input: verdict.input });
  }
  if (!approved.ok) return over(approved.result);
  await start(run, approved, true);
  return { type: 'call', call: approved };
}

async function ask(run: Run, pending: PendingCall): Promise<Verdict | undefined> {
  for (const part of run.setup.use) {
    const verdict = await part.decide?.(pending, run.context, run.signal);
    if (!verdict) continue;
    if (verdict.type === 'approve' || verdict.type === 'reject') return verdict;
    if (verdict.type === 'edit' && verdict.input !== undefined) return verdict;
    throw new AgentError('INVALID_DECISION', 'A middleware’s `decide` gave what is no verdict.');
  }
  return undefined;
}

/** From now on it may have had effects. */
async function start(run: Run, { toolUse }: ReadyCall, isApproved: boolean): Promise<void> {
  const { id: toolUseId } = toolUse;
  const { memory, status } = run.setup;
  const state = status.calls.get(toolUseId)!;
  const started = { kind: 'call-started', toolUseId, toolUse } as const;
  if (!isApproved) {
    state.started = true;
    await memory.note?.([started], { now: true });
    return;
  }
  delete state.pending;
  Object.assign(state, { toolUse, approved: true, started: true });
  const decision = { toolUseId, type: 'approve' } as const;
  await memory.note?.([{ kind: 'decision', decision }, started], { now: true });
}

function over(outcome: ToolResult | Suspension): Decided {
  return { type: 'outcome', outcome };
}

function onlyTool(tool: Tool): ToolSet {
  const set: ToolSet = { find: () => tool, schemas: () => [tool.schema], fork: () => set };
  return set;
}
