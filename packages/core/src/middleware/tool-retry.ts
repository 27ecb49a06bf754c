import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { backoff, type BackoffOptions } from './resilience/backoff.ts';
import type { RunInfo } from '../model/chat-model.ts';
import type { ReadyCall } from '../tool/prepare-call.ts';
import { isSuspension, type RunCallOptions } from '../tool/run-call.ts';
import type { Middleware } from '../loop/use/middleware.ts';

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
 * not run again. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function toolRetry(options: ToolRetryOptions = {}): Middleware {
  checkFields('CONFIGURATION', 'toolRetry()', options, 'tools:array|? isTransient:function|?');
  const { tools, isTransient = isMarked } = options;
  const wait = backoff('toolRetry()', {
    ...options,
    isTransient: (error) => !isSuspension(error) && isTransient(error),
  });
  const again = ({ tool, ...call }: ReadyCall, run: RunInfo): ReadyCall => ({
    ...call,
    tool: {
      ...tool,
      async execute(input, context) {
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await tool.execute!(input, context);
          } catch (error) {
            if (!(await wait({ error, attempt, of: tool.name, signal: context.signal, run })))
              throw error;
          }
        }
      },
    },
  });
  return {
    name: 'toolRetry',
    wrapTool: (next) => (call, context) =>
      next(tools && !tools.includes(call.tool.name) ? call : again(call, runOf(context)), context),
  };
}

function runOf({ runId, sessionId, userId, agentPath }: RunCallOptions): RunInfo {
  return { runId, sessionId, userId, agentPath };
}

function isMarked(error: unknown): boolean {
  return AgentError.is(error) && error.retryable;
}
