import { AgentError, checkOptions } from '../../error/agent-error.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import { backoff, backoffFields, type BackoffOptions, type FailedTry } from './backoff.ts';
import { withExecute, isSuspension, type ToolCall } from '../../tool/tool-call.ts';
import type { ToolContext } from '../../tool/tool.ts';
import type { Middleware } from '../../agent/middleware.ts';

/** How often `toolRetry()` runs a tool again, and after which errors. */
export interface ToolRetryOptions extends BackoffOptions {
  /** Names of the tools to retry. Default: all tools. */
  readonly tools?: readonly string[];
  /**
   * Returns whether to try again after a failure. Default: if the tool threw an `AgentError` with
   * `retryable: true`.
   */
  readonly isTransient?: (error: unknown) => boolean;
}

/**
 * Runs a tool again after a transient failure. The model gets the result of the last try. All tries
 * share the tool's `timeoutMs` and its `idempotencyKey`. A tool that suspends or was aborted does
 * not run again. After an interrupt no tool runs again. Throws `CONFIGURATION` for an option of the
 * wrong kind.
 */
export function toolRetry(options: ToolRetryOptions = {}): Middleware {
  checkOptions('toolRetry()', options, `${backoffFields} tools:names|?`);
  const { tools, isTransient = isMarked } = options;
  const wait = backoff({
    ...options,
    isTransient: (error) => !isSuspension(error) && isTransient(error),
  });
  /** Resolves to false after an interrupt: it starts no tool. */
  const isTriedAgain = async (
    failed: Omit<FailedTry, 'signal'>,
    { signal, interruptSignal = signal }: ToolContext,
  ): Promise<boolean> => {
    try {
      return await wait({ ...failed, signal: AbortSignal.any([signal, interruptSignal]) });
    } catch (thrown) {
      if (signal.aborted || !interruptSignal.aborted) throw thrown;
      return false;
    }
  };
  const again = (call: ToolCall, run: RunInfo): ToolCall =>
    withExecute(call, async (execute, input, context) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await execute(input, context);
        } catch (error) {
          const failed = { error, attempt, of: call.tool.name, run };
          if (!(await isTriedAgain(failed, context))) throw error;
        }
      }
    });
  return {
    name: 'toolRetry',
    wrapTool: (next) => (call, context) =>
      next(tools && !tools.includes(call.tool.name) ? call : again(call, context)),
  };
}

function isMarked(error: unknown): boolean {
  return AgentError.is(error) && error.retryable;
}
