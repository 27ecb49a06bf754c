import { checkNoOptions } from '@isoloop/core/options';
import { type Middleware, AgentError, errorText } from '@isoloop/core';
import { perRun, definePreset } from '@isoloop/core/agent';
import { summaryFallback } from '@isoloop/core/answer';
import { errorResult } from '@isoloop/core/tool';

/**
 * Returns the defaults of AgentScope Java that differ from Isoloop's defaults, for an agent's `use`
 * list:
 * - `pre-call` hooks cannot change the input (AgentScope's document); the middleware
 *   `observedInput` says so;
 * - the model's value of a tool parameter has precedence over a preset value;
 * - tools run one at a time; `limits: { parallelTools: Infinity }` runs them in parallel;
 * - if the summary at the limit fails, the answer is a text that quotes the error, also with the
 *   agent's own `onLimit`;
 * - an exception in a `wrapTool` that follows in the list gives tool calls error results.
 *
 * Other defaults are the same: a hook priority of 100, ten iterations, and tool timeouts of 5
 * minutes. AgentScope also rejects new input while tool calls are open.
 */
export function agentscope(): readonly Middleware[];
export function agentscope(...args: readonly unknown[]): readonly Middleware[] {
  checkNoOptions(
    'agentscope()',
    args,
    'Set the options of the agent, such as `limits: { parallelTools: 4 }`. To replace one of its middleware, add middleware of the same name to `use`.',
  );
  return definePreset([
    {
      name: 'agentscope',
      defaults: {
        limits: { iterations: 10, parallelTools: 1 },
        presetPriority: 'model',
      },
    },
    { name: 'observedInput', defaults: { preCallHooks: 'notify' } },
    summaryFallback(),
    roundErrors(),
  ]);
}

/**
 * Continues after an exception in a later `wrapTool` (AgentScope: `callTools`). The tool call and
 * all tool calls of the same reply that have not started get an error result and do not run. Other
 * tool calls keep their own results. An `AgentError` with code `TOOL_ERROR` still ends the agent
 * call.
 */
function roundErrors(): Middleware {
  const roundOf = perRun((): { failure?: string | undefined } => ({}));
  return {
    name: 'roundErrors',
    wrapRound: (round, next, run) => {
      roundOf(run).failure = undefined;
      return next(round);
    },
    wrapTool: async (call, next, run) => {
      const current = roundOf(run);
      if (current.failure !== undefined) return errorResult(call.toolUse, current.failure);
      try {
        return await next(call);
      } catch (error) {
        const isFatal = AgentError.is(error) && error.code === 'TOOL_ERROR';
        if (isFatal || run.signal.aborted) throw error;
        current.failure = `Tool execution failed: ${errorText(error)}`;
        return errorResult(call.toolUse, current.failure);
      }
    },
  };
}
