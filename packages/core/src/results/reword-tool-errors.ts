import { AgentError, errorText } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, optional, strings } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Awaitable } from '../event/hook.ts';
import { reportFailure } from '../error/report-failure.ts';
import { outputText } from '../message/msg.ts';
import { withExecute, hasResult } from '../tool/tool-call.ts';
import type { Middleware } from '../agent/middleware.ts';

/** The tool call that failed. */
export interface FailedTool {
  readonly name: string;
  readonly toolUseId: string;
  /** Arguments of the tool call. */
  readonly input: unknown;
}

/** What the model reads after a failure of a tool, and which errors end the agent call. */
export interface RewordToolErrorsOptions {
  /** Names of the tools whose failures are handled. Default: all tools. */
  readonly tools?: readonly string[];
  /**
   * Returns the text that the model gets. Default, also for an empty text: `Tool failed: …` with
   * the message of the error. Source: Spring AI Alibaba.
   */
  readonly format?: (error: unknown, call: FailedTool) => Awaitable<string>;
  /**
   * Returns whether a failure ends the agent call with `TOOL_ERROR` and the failure as its `cause`.
   * Default: never.
   */
  readonly endsCall?: (error: unknown, call: FailedTool) => Awaitable<boolean>;
  /**
   * Function that gets the error if `format` or `endsCall` throws. The model then gets the usual
   * error result. Default: logs a warning to the console.
   */
  readonly onError?: (error: AgentError) => void;
}

/**
 * Rewords the failures of tools for the model, or ends the agent call after a failure. Without this
 * middleware, a thrown error becomes the error result `Error: …`. Only an `AgentError` with code
 * `TOOL_ERROR` then ends the agent call. A timeout is a failure too (`TOOL_TIMEOUT`). Invalid
 * arguments, suspensions and aborts are not failures. If `toolRetry` is used too, before or after
 * this middleware, only the last try counts. Throws `CONFIGURATION` for an option of the wrong
 * kind.
 */
export function rewordToolErrors(options: RewordToolErrorsOptions = {}): Middleware {
  checkOptions('rewordToolErrors()', options, rewordToolErrorsOptions);
  const { tools, format = defaultFormat, endsCall, onError } = options;
  return {
    name: 'rewordToolErrors',
    wrapTool: async (call, next) => {
      const { name, givesAnswer } = call.tool;
      const isListed = tools?.includes(name) ?? true;
      if (givesAnswer || !isListed) return next(call);
      const execution: { signal?: AbortSignal; thrown?: unknown } = {};
      const watchedCall = withExecute(call, async (execute, input, context) => {
        execution.signal = context.signal;
        delete execution.thrown;
        try {
          return await execute(input, context);
        } catch (error) {
          execution.thrown = error;
          throw error;
        }
      });
      const outcome = await next(watchedCall);
      if (!hasResult(outcome) || outcome.state !== 'error') return outcome;
      const text = outputText(outcome.output).replace(/^Error: /, '');
      // After a timeout, an error that the tool throws later is only a consequence.
      const cause = execution.signal?.aborted ? execution.signal.reason : execution.thrown;
      const error: unknown = cause ?? new AgentError('TOOL_ERROR', text);
      const failedTool: FailedTool = { name, toolUseId: call.toolUse.id, input: call.input };
      let endsRun: boolean | undefined;
      let output: string;
      try {
        endsRun = await endsCall?.(error, failedTool);
        const ownText: unknown = await format(error, failedTool);
        const hasText = typeof ownText === 'string' && ownText !== '';
        output = hasText ? ownText : defaultFormat(error);
      } catch (failure) {
        const message = 'The text for a tool’s error could not be made:';
        reportFailure(message, onError, AgentError.from(failure));
        return outcome;
      }
      if (endsRun) throw new AgentError('TOOL_ERROR', errorText(error), { cause: error });
      return { ...outcome, output };
    },
  };
}

const rewordToolErrorsOptions: OptionTable<RewordToolErrorsOptions> = {
  tools: optional(strings),
  format: optional(func),
  endsCall: optional(func),
  onError: optional(func),
};

function defaultFormat(error: unknown): string {
  return `Tool failed: ${errorText(error)}`;
}
