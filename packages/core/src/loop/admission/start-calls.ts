import type { PendingCall } from '../../event/pending-call.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { Suspension } from '../../tool/run-call.ts';
import { interruptedResult } from '../../tool/tool-result.ts';
import type { Run } from '../run/run.ts';
import type { RunContext } from '../run/run-context.ts';
import { startsNoTool, type Admission } from './admit-call.ts';
import { decideCall } from './decide-call.ts';
import type { ToolQueue } from './tool-queue.ts';

export type ReadyAdmission = Extract<Admission, { type: 'ready' }>;

export interface CallsToStart {
  readonly ready: readonly ReadyAdmission[];
  /**
   * Returns whether a hook asked to end the agent call. Tool calls that have not started then stay
   * open.
   */
  readonly isStopped: () => boolean;
}

/** Starts the admitted tool calls, as many at a time as the queue allows. */
export function startCalls(run: Run, queue: ToolQueue, { ready, isStopped }: CallsToStart): void {
  const { sessionId, status, memory, runTool } = run.setup;
  const { signal, interruptSignal, toolContext: context } = run;
  const messages = run.request();
  const isHeld = (): boolean => startsNoTool(run) || isStopped();
  for (const { call, decision, waited } of ready) {
    const { id } = call.toolUse;
    queue.start(call.toolUse, async (sink) => {
      if (isHeld()) return heldOutcome(run, call.toolUse);
      let toRun = call;
      if (call.needs && !decision) {
        const decided = await decideCall(run, call);
        if (decided.type === 'result') return decided.result;
        if (decided.type === 'pending') return toSuspension(decided.pending);
        if (decided.type !== 'ready') return undefined;
        toRun = decided.call;
      }
      const { toolUse } = toRun;
      const state = status.calls.get(id)!;
      state.started = true;
      const note = { kind: 'call-started', toolUseId: id, toolUse } as const;
      await run.writes.wait(memory.note?.([note], { now: true }));
      if (isHeld()) {
        state.started = false;
        return heldOutcome(run, toRun.toolUse);
      }
      const idempotencyKey = `${sessionId}:${id}`;
      const interrupt: RunContext['interrupt'] = (request) => run.context.interrupt(request);
      const about = {
        ...run.about,
        messages,
        context,
        decision,
        pending: waited,
        idempotencyKey,
        signal,
      };
      return runTool(toRun, { ...about, ...sink, interrupt, interruptSignal });
    });
  }
}

/**
 * Returns the outcome of a tool call that must not start: an `interrupted` result. After a hook's
 * `stop`, returns `undefined`, because the tool call stays open.
 */
function heldOutcome(run: Run, toolUse: ToolUse): ToolResult | undefined {
  return startsNoTool(run) ? interruptedResult(toolUse, {}) : undefined;
}

function toSuspension({ reason: suspended = 'Nobody has decided yet.' }: PendingCall): Suspension {
  return { suspended, kind: 'approval' };
}
