import { checkFields } from '../error/check-fields.ts';
import { positionHooks, type PositionHook } from '../hook/position-hooks.ts';
import type { AgentOptions } from './agent-options.ts';

export interface SpringAiAlibabaOptions {
  /** Hooks at its four positions, as `positionHooks()` has them. */
  readonly hooks?: readonly PositionHook[];
  /** Whether the calls of one reply run at the same time, at most five; default false: one after the other. */
  readonly parallelToolExecution?: boolean;
}

type Preset = Required<Pick<AgentOptions, 'limits' | 'hooks'>>;

/**
 * Spring AI Alibaba's ReactAgent, to spread into `new ReActAgent`: no limit of iterations (add `modelCallLimit()` to `extensions`), tool
 * calls one after the other or five at once, hooks around agent and model that run in reverse order after. Tool time-outs of 5
 * minutes, `returnDirect`, an error result for an unknown tool and the run of only those calls that have no result are ours as well. A model's
 * failure rejects; there it becomes an answer. Throws `CONFIGURATION` for two hooks of one name.
 */
export function springAiAlibaba(options: SpringAiAlibabaOptions = {}): Preset {
  checkFields('CONFIGURATION', 'springAiAlibaba()', options, 'hooks:array|? parallelToolExecution:boolean|?');
  const { hooks = [], parallelToolExecution = false } = options;
  return {
    limits: { iterations: Infinity, parallelTools: parallelToolExecution ? 5 : 1 },
    hooks: [positionHooks(hooks)],
  };
}
