import { messageOf } from '../../error/agent-error.ts';
import { errorResult } from '../../tool/tool-result.ts';
import type { Run } from '../run/run.ts';
import { admitAtStart, startsNoTool, type ReadyAdmission } from './admit-call.ts';
import { decideCall } from './decide-call.ts';
import { failCall } from './fail-call.ts';
import type { ToolOutcome, ToolQueue, ToolSink } from './tool-queue.ts';

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
  const mayNotStart = (): boolean => startsNoTool(run) || isStopped();
  const begin = async (given: ReadyAdmission, sink: ToolSink): Promise<ToolOutcome> => {
    const { toolUse } = given.call;
    const { id } = toolUse;
    try {
      if (mayNotStart()) return undefined;
      const admitted = await decideCall(run, await admitAtStart(given));
      if (admitted.type === 'result') return admitted.result;
      if (admitted.type !== 'ready') return undefined;
      const { call } = admitted;
      if (!call.ok) return errorResult(call.toolUse, call.problem);
      const note = { kind: 'call-started', toolUseId: id, toolUse: call.toolUse } as const;
      await run.writes.wait(memory.note?.([note], { now: true }));
      if (mayNotStart()) return undefined;
      status.calls.get(id)!.started = true;
      const { decision, waited: pending } = given.open;
      return await runTool(call, {
        ...run.about,
        messages,
        context,
        decision,
        pending,
        idempotencyKey: `${sessionId}:${id}`,
        signal,
        ...sink,
        interrupt: run.context.interrupt,
        interruptSignal,
      });
    } catch (error) {
      // The other tools stop at once, before the loop reads the outcome.
      const failed = failCall(run, toolUse, error, messageOf(error));
      return status.calls.get(id)?.started ? failed : undefined;
    }
  };
  for (const one of ready) queue.start(one.call.toolUse, (sink) => begin(one, sink));
}
