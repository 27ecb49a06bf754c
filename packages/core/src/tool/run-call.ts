import { AgentError, messageOf } from '../error/agent-error.ts';
import type { Decision } from '../event/pending-call.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ToolResult } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { RunInfo } from '../model/chat-model.ts';
import { Deadline } from '../model/deadline.ts';
import type { ContextToken } from './context-token.ts';
import type { ReadyCall } from './prepare-call.ts';
import type { ToolContext } from './tool.ts';
import { errorResult, interruptedResult, outputResult } from './tool-result.ts';

/**
 * Result of a tool that asked to wait. `approval`: the call stays open because the approver did not
 * decide.
 */
export interface Suspension {
  readonly kind?: 'approval';
  readonly suspended: string;
  /** Whether the call is of a child agent that waits only for approvals. */
  readonly forApproval?: true;
}

/** Context of a tool call and the run it belongs to. */
export interface RunCallOptions extends RunInfo {
  readonly messages: readonly Msg[];
  readonly idempotencyKey: string;
  readonly context: ReadonlyMap<object, unknown>;
  readonly decision: Decision | undefined;
  /**
   * Signal of the call. Once it is aborted, the result is `interrupted`, even if the tool ignores
   * it.
   */
  readonly signal: AbortSignal;
  emit(progress: JsonValue): void;
  forward(events: readonly AgentEvent[]): void;
  /** See `ToolContext`, also below. */
  readonly interruptSignal: AbortSignal;
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}

/** Function that runs a prepared call. */
export type RunCall = (
  call: ReadyCall,
  options: RunCallOptions,
) => Promise<ToolResult | Suspension>;

/**
 * Runs one prepared call and returns its result. Rejects only if the tool throws an `AgentError`
 * with `TOOL_ERROR`: a failure that ends the agent's call.
 */
export async function runCall(
  call: ReadyCall,
  options: RunCallOptions,
): Promise<ToolResult | Suspension> {
  const { tool, toolUse, input } = call;
  const { signal, context } = options;
  const toError = (ms: number): AgentError =>
    new AgentError('TOOL_TIMEOUT', `Tool "${tool.name}" timed out after ${ms} ms`);
  const deadline = new Deadline(signal, tool.timeoutMs ?? 300_000, toError);
  const toolContext: ToolContext = {
    ...options,
    signal: deadline.signal,
    toolUseId: toolUse.id,
    get<T>(token: ContextToken<T>): T {
      if (!context.has(token))
        throw new AgentError('CONFIGURATION', `Nothing is provided for "${token.name}".`);
      return context.get(token) as T;
    },
    suspend(suspended) {
      throw { suspended } satisfies Suspension;
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
