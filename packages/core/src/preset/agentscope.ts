import type { Middleware } from '../loop/use/middleware.ts';
import { summarize } from '../loop/limit.ts';

/**
 * AgentScope Java's defaults where ours differ, for an agent's `use` list: `pre-call` hooks are told
 * and change nothing (its document), a model's parameter wins over a preset one, its wording at the
 * limit and after an interrupt. A priority of 100, ten iterations, tool time-outs of 5 minutes and
 * the refusal of new input beside open tool calls are ours as well.
 */
export function agentscope(): readonly Middleware[] {
  return [
    {
      name: 'agentscope',
      defaults: {
        limits: { iterations: 10 },
        onLimit: summarize({
          prompt:
            'You have failed to generate response within the maximum iterations. Now respond directly by summarizing the current situation.',
        }),
        preCall: 'notification',
        presetPriority: 'model',
        recoveryMessage: 'I noticed that you have interrupted me. What can I do for you?',
      },
    },
  ];
}
