import { AgentError, errorText } from '../error/agent-error.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ToolUse, Msg } from '../message/msg.ts';
import { jsonForm } from '../message/json.ts';
import { runInfo, type RunInfo } from '../model/chat-model.ts';
import { Deadline } from '../wait/deadline.ts';
import { markHandled } from '../wait/mark-handled.ts';
import { providedValue } from './context-token.ts';
import {
  errorResult,
  interruptedResult,
  isSuspension,
  notStarted,
  outputResult,
  type Execute,
  type ExecuteWrapper,
  type ToolCall,
  type ToolOutcome,
} from './tool-call.ts';
import type { ToolSink } from './tool-queue.ts';
import type { ToolContext } from './tool.ts';

/** The run that makes a tool call, as the tool sees it. */
export interface CallingRun extends RunInfo {
  /** Values for `get` of `ToolContext`. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /**
   * Signal that aborts the tool call. After the abort the result is `interrupted`, even if the tool
   * ignores the signal.
   */
  readonly signal: AbortSignal;
  /** Same as `interruptSignal` of `ToolContext`. */
  readonly interruptSignal: AbortSignal;
  /** Same as `interrupt` of `ToolContext`. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}

/** What a tool gets from its round: where its output goes, and the messages that the model got. */
export interface FromRound extends ToolSink {
  readonly messages: readonly Msg[];
}

/** What a tool call gets from the run that makes it. */
interface ExecuteOptions {
  readonly run: CallingRun;
  readonly fromRound: FromRound;
  /**
   * Notes in the log that the tool starts. Resolves with false if the run has ended meanwhile. The
   * tool must not start then.
   */
  begin(toolUse: ToolUse): Promise<boolean>;
}

/**
 * Runs one prepared tool call and returns its result. The call of an external tool is suspended.
 * Rejects only if the tool throws an `AgentError` with code `TOOL_ERROR`, which ends the agent
 * call.
 */
export async function executeTool(call: ToolCall, options: ExecuteOptions): Promise<ToolOutcome> {
  const { tool, toolUse, input, around } = call;
  const { signal } = options.run;
  if (!tool.execute) return { suspended: true, kind: 'external' };
  if (!(await options.begin(toolUse))) return notStarted;
  const toError = (ms: number): AgentError =>
    new AgentError('TOOL_TIMEOUT', `Tool "${tool.name}" timed out after ${ms} ms`);
  const deadline = new Deadline(signal, tool.timeoutMs, toError);
  const context = toolContext(call, options, deadline.signal);
  try {
    const execute = around.reduceRight(wrapExecute, tool.execute.bind(tool));
    return await deadline.wait(async () => outputResult(toolUse, await execute(input, context)));
  } catch (error) {
    if (signal.aborted) return interruptedResult(toolUse);
    if (isSuspension(error)) return error;
    if (AgentError.is(error) && error.code === 'TOOL_ERROR') throw error;
    return errorResult(toolUse, errorText(error));
  } finally {
    deadline.end();
  }
}

/** Puts a wrapper around a function. The wrapper may not wait for it. */
function wrapExecute(inner: Execute, wrapper: ExecuteWrapper): Execute {
  const next: Execute = (...args) => markHandled(inner(...args));
  return (...args) => wrapper(next, ...args);
}

function toolContext(
  { tool, toolUse, decision, waitedFor }: ToolCall,
  { run, fromRound }: ExecuteOptions,
  signal: AbortSignal,
): ToolContext {
  const { interruptSignal, interrupt, toolContext: values } = run;
  return {
    ...runInfo(run),
    ...fromRound,
    signal,
    interruptSignal,
    toolUseId: toolUse.id,
    idempotencyKey: `${run.sessionId}:${toolUse.id}`,
    decision,
    waitedFor,
    interrupt,
    get: (token) => providedValue(token, values),
    suspend(reason, details) {
      throw jsonForm({ suspended: true, reason: reason || undefined, details }, tool.name);
    },
  };
}
