import type { Middleware } from '../agent/middleware.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { optional, strings } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { isSuspension, withExecute } from '../tool/tool-call.ts';
import {
  otherRetryNames,
  retryDelayOptions,
  retryWaiter,
  type RetryDelayOptions,
} from './retry-delay.ts';

/** How often `toolRetry()` runs a tool again, and after which errors. */
export interface ToolRetryOptions extends RetryDelayOptions {
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
  checkOptions('toolRetry()', options, toolRetryOptions, 'CONFIGURATION', otherRetryNames);
  const { tools, isTransient = isMarked } = options;
  const waitForRetry = retryWaiter({
    ...options,
    isTransient: (error) => !isSuspension(error) && isTransient(error),
  });
  return {
    name: 'toolRetry',
    wrapTool: (call, next, run) => {
      const { name } = call.tool;
      if (tools && !tools.includes(name)) return next(call);
      const retriedCall = withExecute(call, async (execute, input, context) => {
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await execute(input, context);
          } catch (error) {
            const { signal, interruptSignal = signal } = context;
            const eitherSignal = AbortSignal.any([signal, interruptSignal]);
            const failure = { error, attempt, target: name, run };
            const isRetried = await waitForRetry(failure, eitherSignal).catch((thrown: unknown) => {
              if (signal.aborted || !interruptSignal.aborted) throw thrown;
              return false;
            });
            if (!isRetried) throw error;
          }
        }
      });
      return next(retriedCall);
    },
  };
}

const toolRetryOptions: OptionTable<ToolRetryOptions> = {
  ...retryDelayOptions,
  tools: optional(strings),
};

function isMarked(error: unknown): boolean {
  return AgentError.is(error) && error.retryable;
}
