import { AgentError, errorText } from '../error/agent-error.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ToolUse, Msg } from '../message/msg.ts';
import { jsonForm, type JsonValue } from '../message/json.ts';
import { runInfo, type RunInfo } from '../model/chat-model.ts';
import { Deadline } from '../wait/deadline.ts';
import { valueFor } from './context-token.ts';
import {
  isSuspension,
  notStarted,
  errorResult,
  interruptedResult,
  outputResult,
} from './tool-call.ts';
import type { ToolCall, ToolOutcome } from './tool-call.ts';
import type { ToolContext } from './tool.ts';

/** The run that makes a tool call, as the tool sees it. */
export interface ToolRun extends RunInfo {
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

/** What a tool call gets from the run that makes it. */
export interface ExecuteOptions {
  readonly run: ToolRun;
  readonly messages: readonly Msg[];
  emit(progress: JsonValue): void;
  forward(events: readonly AgentEvent[]): void;
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
  const { tool, toolUse, input } = call;
  const { signal } = options.run;
  if (!tool.execute) return { suspended: true, kind: 'external' };
  if (!(await options.begin(toolUse))) return notStarted;
  const toError = (ms: number): AgentError =>
    new AgentError('TOOL_TIMEOUT', `Tool "${tool.name}" timed out after ${ms} ms`);
  const deadline = new Deadline(signal, tool.timeoutMs, toError);
  const context = toolContext(call, options, deadline.signal);
  try {
    return await deadline.wait(async () =>
      outputResult(toolUse, await call.runExecute(tool.execute!.bind(tool), input, context)),
    );
  } catch (error) {
    if (signal.aborted) return interruptedResult(toolUse);
    if (isSuspension(error)) return error;
    if (AgentError.is(error) && error.code === 'TOOL_ERROR') throw error;
    return errorResult(toolUse, errorText(error));
  } finally {
    deadline.end();
  }
}

function toolContext(
  { tool, toolUse, decision, waitedFor }: ToolCall,
  { run, messages, emit, forward }: ExecuteOptions,
  signal: AbortSignal,
): ToolContext {
  const { interruptSignal, interrupt, toolContext: values } = run;
  return {
    ...runInfo(run),
    signal,
    interruptSignal,
    toolUseId: toolUse.id,
    messages,
    idempotencyKey: `${run.sessionId}:${toolUse.id}`,
    decision,
    waitedFor,
    emit,
    forward,
    interrupt,
    get: (token) => valueFor(token, values),
    suspend(reason, details) {
      throw jsonForm({ suspended: true, reason: reason || undefined, details }, tool.name);
    },
  };
}
