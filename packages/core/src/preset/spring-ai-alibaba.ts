import { checkFields } from '../error/check-fields.ts';
import {
  checkPositionHooks,
  positionHooks,
  type PositionHook,
} from '../middleware/position-hooks.ts';
import type { TemplateVariables } from '../prompt/render-template.ts';
import { userText } from '../message/message-text.ts';
import { undecidedCalls } from '../loop/admission/undecided-calls.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import {
  promptVariables,
  type PromptCall,
  type PromptVariablesOptions,
} from '../prompt/prompt-variables.ts';
import type { StateSource } from '../state/state-keys.ts';

export interface SpringAiAlibabaOptions {
  /** Hooks at the framework's four positions, as in `positionHooks()`. */
  readonly hooks?: readonly PositionHook[];
  /**
   * Whether the calls of one reply run at the same time, at most five. Default false: one after the
   * other.
   */
  readonly parallelToolExecution?: boolean;
  /**
   * Whether no call of a reply runs before all of its calls are decided. Default true, as there;
   * with false, only the calls that need approval wait.
   */
  readonly holdRound?: boolean;
  /**
   * The session's values, from `stateKeys()`. They become part of the middleware and variables of
   * the system prompt.
   */
  readonly state?: Middleware & { of(source: StateSource): { all(): object } };
  /**
   * More variables of the system prompt. They win over the session's values, which win over
   * `{input}`.
   */
  readonly variables?: PromptVariablesOptions['variables'];
}

/**
 * Returns Spring AI Alibaba's ReactAgent for an agent's `use` list:
 * - no limit of iterations: add `modelCallLimit()` to the list;
 * - tool calls run one after the other, or five at once;
 * - hooks around agent and model run in reverse order afterwards;
 * - a pause that is asked for while no call runs pauses the next call before its first request;
 * - while a call of a reply waits for approval, none of its calls runs;
 * - the system prompt is a template, rendered once per call: `{input}` is the text of the call's
 *   input, `{name}` a value of `state` or `variables`.
 *
 * Other features are the same as ours: tool time-outs of 5 minutes, `returnDirect`, and an error
 * result for an unknown tool. Both also run only the calls that have no result. A model failure
 * rejects here; there it becomes an answer. Throws `CONFIGURATION` for two hooks of one name.
 */
export function springAiAlibaba(options: SpringAiAlibabaOptions = {}): readonly Middleware[] {
  const fields =
    'hooks:array|? parallelToolExecution:boolean|? holdRound:boolean|? state:of()|? variables:object|function|?';
  checkFields('CONFIGURATION', 'springAiAlibaba()', options, fields);
  checkPositionHooks('springAiAlibaba()', options.hooks ?? []);
  const { hooks = [], parallelToolExecution = false, holdRound = true } = options;
  const { state, variables = {} } = options;
  const variablesOf = async (call: PromptCall): Promise<TemplateVariables> => {
    const kept = state?.of(call).all() as TemplateVariables | undefined;
    const given = typeof variables === 'function' ? variables(call) : variables;
    return { input: userText(call.input), ...kept, ...(await given) };
  };
  const limits = { iterations: Infinity, parallelTools: parallelToolExecution ? 5 : 1 };
  return [
    { name: 'springAiAlibaba', defaults: { limits, pauseWhenIdle: true } },
    positionHooks(hooks),
    ...(holdRound ? [{ name: 'holdRound', hold: undecidedCalls }] : []),
    ...(state ? [state] : []),
    promptVariables({ form: '{}', variables: variablesOf }),
  ];
}
