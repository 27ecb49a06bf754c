import { checkFields } from '../error/check-fields.ts';
import { positionHooks, type PositionHook } from '../middleware/position-hooks.ts';
import type { TemplateVariables } from '../prompt/render-template.ts';
import { userText } from '../message/message-text.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import {
  promptVariables,
  type PromptCall,
  type PromptVariablesOptions,
} from '../prompt/prompt-variables.ts';
import type { StateSource } from '../state/state-keys.ts';

export interface SpringAiAlibabaOptions {
  /** Hooks at its four positions, as `positionHooks()` has them. */
  readonly hooks?: readonly PositionHook[];
  /**
   * Whether the calls of one reply run at the same time, at most five; default false: one after the
   * other.
   */
  readonly parallelToolExecution?: boolean;
  /**
   * The session's values, as `stateKeys()` has them: one of the middleware then, and variables of
   * the system prompt.
   */
  readonly state?: Middleware & { of(source: StateSource): { all(): object } };
  /**
   * More variables of the system prompt; they win over the session's values, and those over
   * `{input}`.
   */
  readonly variables?: PromptVariablesOptions['variables'];
}

/**
 * Spring AI Alibaba's ReactAgent, for an agent's `use` list: no limit of iterations (add
 * `modelCallLimit()` to the list), tool calls one after the other or five at once, hooks around
 * agent and model that run in reverse order after; the system prompt is a template, rendered once a
 * call: `{input}` is the text the call is made with, `{name}` a value of `state` or `variables`.
 * Tool time-outs of 5 minutes, `returnDirect`, an error result for an unknown tool and the run of
 * only those calls that have no result are ours as well. A model's failure rejects; there it
 * becomes an answer. Throws `CONFIGURATION` for two hooks of one name.
 */
export function springAiAlibaba(options: SpringAiAlibabaOptions = {}): readonly Middleware[] {
  const fields =
    'hooks:array|? parallelToolExecution:boolean|? state:of()|? variables:object|function|?';
  checkFields('CONFIGURATION', 'springAiAlibaba()', options, fields);
  const { hooks = [], parallelToolExecution = false, state, variables = {} } = options;
  const variablesOf = async (call: PromptCall): Promise<TemplateVariables> => {
    const kept = state?.of(call).all() as TemplateVariables | undefined;
    const given = typeof variables === 'function' ? variables(call) : variables;
    return { input: userText(call.input), ...kept, ...(await given) };
  };
  const limits = { iterations: Infinity, parallelTools: parallelToolExecution ? 5 : 1 };
  return [
    { name: 'springAiAlibaba', defaults: { limits } },
    positionHooks(hooks),
    ...(state ? [state] : []),
    promptVariables({ form: '{}', variables: variablesOf }),
  ];
}
