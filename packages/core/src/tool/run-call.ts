import { AgentError, messageOf } from '../error/agent-error.ts';
import type { ToolResult } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { PreparedCall } from './prepare-call.ts';
import type { ToolContext } from './tool.ts';
import { errorResult, interruptedResult, outputResult } from './tool-result.ts';

export interface RunCallOptions {
  readonly messages: readonly Msg[];
  readonly idempotencyKey: string;
  /** Raised: the result is `interrupted` at once, also when the tool does not listen. */
  readonly signal: AbortSignal;
  emit(progress: JsonValue): void;
}

/** Runs one prepared call to its result; never rejects. Progress after the end is dropped. */
export async function runCall(call: Extract<PreparedCall, { ok: true }>, options: RunCallOptions): Promise<ToolResult> {
  const { tool, toolUse, input } = call;
  const { messages, idempotencyKey, signal } = options;
  if (signal.aborted) return interruptedResult(toolUse);
  const own = new AbortController();
  let settled = false;
  const emit = (progress: JsonValue): void => {
    if (!settled) options.emit(progress);
  };
  return new Promise<ToolResult>((resolve) => {
    const settle = (result: ToolResult): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(result);
    };
    const stop = (reason: AgentError, result: ToolResult): void => {
      own.abort(reason);
      settle(result);
    };
    const onAbort = (): void => stop(AgentError.from(signal.reason, 'ABORTED'), interruptedResult(toolUse));
    const timer = setTimeout(() => {
      const message = `Tool "${tool.name}" timed out after ${tool.timeoutMs} ms`;
      stop(new AgentError('TOOL_TIMEOUT', message), errorResult(toolUse, message));
    }, tool.timeoutMs);
    signal.addEventListener('abort', onAbort);
    const context = { signal: own.signal, toolUseId: toolUse.id, messages, idempotencyKey, emit } as unknown as ToolContext;
    const execute = async (): Promise<ToolResult> => outputResult(toolUse, await tool.execute!(input, context));
    execute().then(settle, (error: unknown) => settle(errorResult(toolUse, messageOf(error))));
  });
}
