import type { Middleware, OpenCall } from '../../agent/middleware.ts';
import { isNewAnswer } from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';
import type { RunContext } from '../../agent/run-context.ts';
import { checkOptions } from '../../error/check-fields.ts';
import { allowTools, toolsIn } from '../../tool/set/tool-set.ts';
import { errorResult } from '../../tool/tool-result.ts';

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    readonly limits?: RunLimits;
  }
}

/** Limits that count what one agent call uses. */
export interface RunLimits {
  /**
   * Maximum number of tool calls in one agent call. Default: no limit (Arc Reactor:
   * `maxToolCalls`). Tool calls that do not run also count. At the limit, the model gets no tools,
   * and its answer ends the agent call with reason `limit`. A tool call beyond the limit gets an
   * error result. A pending tool call counts in the agent call that requested it, not in the agent
   * call that resumes it.
   */
  readonly toolCalls?: number;
  /**
   * Maximum number of input and output tokens of one agent call, as the provider reports them.
   * Default: no limit. The loop checks the limit before each model request. At the limit, `onLimit`
   * gives the answer.
   */
  readonly tokens?: number;
}

/**
 * Enforces limits of tool calls and tokens. `ReActAgent` has this middleware, and its own `limits`
 * override these field by field. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function runLimits(usual: RunLimits = {}): Middleware {
  checkOptions('CONFIGURATION', 'runLimits()', usual, 'toolCalls,tokens:count|?');
  const runs = perRun(() => ({ toolCalls: 0 }));
  const limitsOf = ({ options: { limits } }: RunContext): RunLimits => ({ ...usual, ...limits });
  const hasCallsLeft = (context: RunContext): boolean =>
    (runs.get(context.runId)?.toolCalls ?? 0) < (limitsOf(context).toolCalls ?? Infinity);
  return {
    name: 'limits',
    wrapRun: runs.wrapRun,
    wrapRequest: (next) => (draft, context) => {
      const { usage } = context;
      const { tokens = Infinity } = limitsOf(context);
      const isOver = usage.inputTokens + usage.outputTokens >= tokens;
      const limited = isOver ? { ...draft, limit: draft.limit ?? 'limit' } : draft;
      if (hasCallsLeft(context)) return next(limited, context);
      context.setTools(onlyAnswers(context));
      return next({ ...limited, tools: context.toolSchemas }, context);
    },
    wrapReply: (next) => async (reply, context) => {
      const made = await next(reply, context);
      const isLast = isNewAnswer(made, context) && !hasCallsLeft(context);
      return isLast ? { ...made, reason: 'limit' } : made;
    },
    wrapRound: (next) => (round, context) => {
      const run = runs.get(context.runId)!;
      const counted = (call: OpenCall): OpenCall => {
        if (call.state.toolUse || call.result?.state === 'denied' || !counts(call, context))
          return call;
        const isOver = !hasCallsLeft(context);
        if (!isOver) run.toolCalls += 1;
        return isOver && !call.result ? { ...call, result: overLimit(call, run.toolCalls) } : call;
      };
      return next({ ...round, calls: round.calls.map(counted) }, context);
    },
  };
}

/** Returns whether a tool call counts. A call that gives the answer does not. */
function counts({ toolUse }: OpenCall, { tools }: RunContext): boolean {
  const tool = tools.find(toolUse.name);
  return typeof tool !== 'object' || !tool.takesAnswer;
}

function overLimit({ toolUse }: OpenCall, count: number): NonNullable<OpenCall['result']> {
  const message = `The limit of ${count} tool calls is reached. Answer with what you have.`;
  return errorResult(toolUse, message);
}

/** Returns the tools of the run, of which only those that take the answer can be called. */
function onlyAnswers({ tools }: RunContext): RunContext['tools'] {
  const left = toolsIn(tools).filter(({ takesAnswer }) => takesAnswer);
  return allowTools(
    tools,
    left.map(({ name }) => name),
  );
}
