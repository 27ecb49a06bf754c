import { AgentError } from '../error/agent-error.ts';
import { noSummary, summarize, type OnLimit } from '../loop/limit.ts';
import type { Middleware } from '../loop/use/middleware.ts';

/**
 * Returns AgentScope Java's defaults where ours differ, for an agent's `use` list:
 * - `pre-call` hooks are notified and cannot change the input (its document);
 * - the model's value of a tool parameter wins over a preset one;
 * - tools run one at a time; `limits: { parallelTools: Infinity }` runs them in parallel;
 * - its wording at the limit and after an interrupt;
 * - a summary that fails gives a fixed text, without the text of the error.
 *
 * Other defaults are the same as ours: a priority of 100, ten iterations and tool time-outs of 5
 * minutes. Both also refuse new input while tool calls are open.
 */
export function agentscope(): readonly Middleware[] {
  return [
    {
      name: 'agentscope',
      defaults: {
        limits: { iterations: 10, parallelTools: 1 },
        onLimit,
        preCall: 'notification',
        presetPriority: 'model',
        recoveryMessage: 'I noticed that you have interrupted me. What can I do for you?',
      },
    },
  ];
}

const summary = summarize({
  prompt:
    'You have failed to generate response within the maximum iterations. Now respond directly by summarizing the current situation.',
});

const onLimit: OnLimit = async (context, steps) => {
  try {
    return await summary(context, steps);
  } catch (error) {
    if (context.cut || notTheModels.test(AgentError.from(error).code)) throw error;
    return noSummary(context, steps);
  }
};

/** Codes of failures that are not the model's, so that the call fails with them. */
const notTheModels =
  /^(ABORTED|CALL_TIMEOUT|CONFIGURATION|LIMIT_EXCEEDED|(GUARD|HOOK|STORAGE|SESSION)_.*)$/;
