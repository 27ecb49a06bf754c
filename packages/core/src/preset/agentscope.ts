import type { Middleware } from '../agent/middleware.ts';
import { presetOf } from '../agent/use-list.ts';
import { refuseOptions, type NoOptions } from './refuse-options.ts';
import { summaryFallback } from '../middleware/limits/last-answer.ts';
import { roundErrors } from './round-errors.ts';

/**
 * Returns the defaults of AgentScope Java that differ from Isoloop's defaults, for an agent's `use`
 * list:
 * - `pre-call` hooks cannot change the input (AgentScope's document);
 * - the model's value of a tool parameter has precedence over a preset value;
 * - tools run one at a time; `limits: { parallelTools: Infinity }` runs them in parallel;
 * - if the summary at the limit fails, the answer is a text that quotes the error, also with the
 *   agent's own `onLimit`;
 * - an exception in a `wrapTool` that follows in the list gives tool calls error results.
 *
 * Other defaults are the same: a hook priority of 100, ten iterations, and tool timeouts of 5
 * minutes. AgentScope also rejects new input while tool calls are open.
 */
export function agentscope(options: NoOptions = {}): readonly Middleware[] {
  refuseOptions('agentscope()', options);
  return presetOf([
    {
      name: 'agentscope',
      defaults: {
        limits: { iterations: 10, parallelTools: 1 },
        preCall: 'notification',
        presetPriority: 'model',
      },
    },
    summaryFallback(),
    roundErrors(),
  ]);
}
