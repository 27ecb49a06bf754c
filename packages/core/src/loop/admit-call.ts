import { messageOf } from '../error/agent-error.ts';
import type { EventBatch } from '../event/agent-event.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import { prepareCall, type ReadyCall } from '../tool/prepare-call.ts';
import { deniedResult, errorResult, interruptedResult, toolResult } from '../tool/tool-result.ts';
import type { CallState } from '../event/call-state.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import type { Run } from './run.ts';

/** What becomes of a call that the model asked for. `result`: it is over without having run. */
export type Admission =
  | { readonly type: 'ready'; readonly call: ReadyCall; readonly decision: Decision | undefined }
  | { readonly type: 'pending'; readonly pending: PendingCall }
  | { readonly type: 'result'; readonly toolUse: ToolUse; readonly result: ToolResult };

/**
 * One call on its way to execution: exists, is active, fits its schema → `pre-acting` → approval. A call that was open before this
 * run goes on where it was: what waits and was not decided waits on, what may have started follows its tool's `replay`.
 */
export async function* admitCall(run: Run, toolUse: ToolUse, given?: Decision): AsyncGenerator<EventBatch, Admission> {
  const { status, extensions } = run.setup;
  const asks = extensions.some(({ asksApproval }) => asksApproval);
  const known = status.calls.get(toolUse.id);
  // Without a state the call was another host's: it may have started there, if nobody had to allow it.
  const state: CallState = known ?? { started: true };
  status.calls.set(toolUse.id, state);
  const decision = given ?? state.decision;
  const over = (result: ToolResult): Admission => ({ type: 'result', toolUse, result });
  const asked = run.tools.find(toolUse.name);
  const told = typeof asked === 'object' && asked.takesDecisions && state.pending?.kind === 'suspended';
  if (!told && decision?.type === 'result') return over(toolResult(toolUse, decision.output, decision.state ?? 'success'));
  if (!told && decision?.type === 'reject') return over(deniedResult(toolUse, decision.reason));
  if (run.signal.aborted) return over(interruptedResult(toolUse, known));
  if (!decision && state.pending && !(asks && state.pending.kind === 'approval')) return { type: 'pending', pending: state.pending };

  const prepare = async (edited: ToolUse) => {
    try {
      const ready = await prepareCall(run.tools, edited);
      if (!ready.ok) return ready;
      const { needsApproval } = ready.tool;
      let needs: boolean | string =
        (typeof needsApproval === 'function' ? await needsApproval(ready.input, ready.toolUse) : needsApproval) ?? false;
      for (const extension of extensions) needs = (await extension.needsApproval?.(ready)) || needs;
      return { ...ready, needs: !state.approved && needs };
    } catch (error) {
      // A schema or a predicate that throws: the call did not run, and the others go on.
      return { ok: false, result: errorResult(toolUse, messageOf(error)) } as const;
    }
  };
  const left = state.toolUse ?? toolUse;
  const wait = (kind: PendingCall['kind'], reason?: string): Admission => ({
    type: 'pending',
    pending: suspend(run, state.toolUse ?? toolUse, kind, reason),
  });
  let call = await prepare(decision?.type === 'edit' ? { ...left, input: decision.input } : left);
  if (!call.ok) return over(call.result);
  const { tool } = call;
  const counts = !run.output?.tools?.includes(tool);
  if (counts && !run.toolCallsLeft && !state.toolUse) {
    return over(errorResult(toolUse, `The limit of ${run.toolCalls} tool calls is reached. Answer with what you have.`));
  }
  run.toolsUsed.add(tool.name);
  if (!decision && tool.execute && state.started && (known || !call.needs)) {
    if (tool.replay === 'ask') return wait('replay');
    if (tool.replay !== 'safe') return over(interruptedResult(toolUse));
  }
  state.started = false;
  if (!state.toolUse) {
    const refused: { reason?: string } = {};
    const event = await run.modify('pre-acting', { toolUse: call.toolUse }, { reject: (reason) => void (refused.reason = reason) });
    yield [event];
    if (refused.reason !== undefined) return over(deniedResult(toolUse, refused.reason));
    // A call keeps its id: its result has to answer what the model asked.
    if (event.toolUse !== call.toolUse) call = await prepare({ ...event.toolUse, id: toolUse.id });
    if (!call.ok) return over(call.result);
  }
  if (counts && !state.toolUse) run.toolCalls += 1;
  state.toolUse = call.toolUse;
  delete state.pending;
  if (decision) state.approved = true;
  else if (call.needs && !asks) return wait('approval', reasonOf(call.needs));
  return call.tool.execute ? { type: 'ready', call, decision } : wait('external');
}

/** Notes what the call waits for. */
export function suspend(run: Run, { id: toolUseId, name, input }: ToolUse, kind: PendingCall['kind'], reason?: string): PendingCall {
  const pending = { toolUseId, name, input, kind, ...(reason !== undefined && { reason }) };
  Object.assign(run.setup.status.calls.get(toolUseId)!, { pending, started: false });
  return pending;
}

/** What somebody who has to approve a call is told. */
export function reasonOf(needs: true | string): string | undefined {
  return needs === true ? undefined : needs;
}
