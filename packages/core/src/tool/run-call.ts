import { AgentError, messageOf } from '../error/agent-error.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ToolResult } from '../message/content-block.ts';
import { jsonForm } from '../message/json/json-form.ts';
import type { JsonObject, JsonValue } from '../message/json/json.ts';
import type { Msg } from '../message/msg.ts';
import type { RunInfo } from '../model/chat-model.ts';
import { Deadline } from '../model/deadline.ts';
import type { ContextToken } from './context-token.ts';
import type { ReadyCall } from './prepare-call.ts';
import type { ToolContext } from './tool.ts';
import { errorResult, interruptedResult, outputResult } from './tool-result.ts';

/** Outcome of a tool call that has no result yet because the tool asked to wait. */
export interface Suspension {
  /** Reason for the wait. Empty if the tool gave none. */
  readonly suspended: string;
  /** Whether the tool is a child agent that waits only for approvals. */
  readonly forApproval?: true;
  readonly details?: JsonObject;
}

/** Context of a tool call and of the run that makes the tool call. */
export interface RunCallOptions extends RunInfo {
  readonly messages: readonly Msg[];
  readonly idempotencyKey: string;
  readonly context: ReadonlyMap<object, unknown>;
  readonly decision: Decision | undefined;
  /** What the tool call waited for before `decision`. */
  readonly pending: PendingCall | undefined;
  /**
   * Signal that aborts the tool call. After the abort the result is `interrupted`, even if the tool
   * ignores the signal.
   */
  readonly signal: AbortSignal;
  emit(progress: JsonValue): void;
  forward(events: readonly AgentEvent[]): void;
  /** Same as `interruptSignal` of `ToolContext`. */
  readonly interruptSignal: AbortSignal;
  /** Same as `interrupt` of `ToolContext`. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}

/** Function that runs a prepared tool call. */
export type RunCall = (
  call: ReadyCall,
  options: RunCallOptions,
) => Promise<ToolResult | Suspension>;

/**
 * Runs one prepared tool call and returns its result. Rejects only if the tool throws an
 * `AgentError` with code `TOOL_ERROR`, which ends the agent call.
 */
export async function runCall(
  call: ReadyCall,
  options: RunCallOptions,
): Promise<ToolResult | Suspension> {
  const { tool, toolUse, input } = call;
  const { signal, context } = options;
  const toError = (ms: number): AgentError =>
    new AgentError('TOOL_TIMEOUT', `Tool "${tool.name}" timed out after ${ms} ms`);
  const deadline = new Deadline(signal, tool.timeoutMs, toError);
  const toolContext: ToolContext = {
    ...options,
    signal: deadline.signal,
    toolUseId: toolUse.id,
    get<T>(token: ContextToken<T>): T {
      if (!context.has(token))
        throw new AgentError('CONFIGURATION', `Nothing is provided for "${token.name}".`);
      return context.get(token) as T;
    },
    suspend(reason = '', details) {
      throw jsonForm({ suspended: String(reason), details }, tool.name);
    },
  };
  try {
    return await deadline.wait(async () =>
      outputResult(toolUse, await tool.execute!(input, toolContext)),
    );
  } catch (error) {
    if (signal.aborted) return interruptedResult(toolUse);
    if (isSuspension(error)) return error;
    if (AgentError.is(error) && error.code === 'TOOL_ERROR') throw error;
    return errorResult(toolUse, messageOf(error));
  } finally {
    deadline.end();
  }
}

export function isSuspension(value: unknown): value is Suspension {
  try {
    return typeof (value as Suspension | undefined)?.suspended === 'string';
  } catch {
    return false;
  }
}
