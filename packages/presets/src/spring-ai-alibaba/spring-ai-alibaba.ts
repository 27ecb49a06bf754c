import {
  checkOptions,
  array,
  boolean,
  either,
  func,
  object,
  optional,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { positionHooks, type PositionHook } from './position-hooks.ts';
import {
  promptVariables,
  type TemplateVariables,
  type PromptCall,
  type PromptVariablesOptions,
} from '@isoloop/core/prompt';
import { pauseNextCall } from '@isoloop/core/steering';
import { userText } from '@isoloop/core/message';
import type { Middleware } from '@isoloop/core';
import { approvals } from '@isoloop/core/approval';
import { definePreset } from '@isoloop/core/agent';
import type { StateSource } from '@isoloop/core/state';

/** Hooks, state and prompt variables for `springAiAlibaba()`, and how its tools run. */
export interface SpringAiAlibabaOptions {
  /** Hooks at the framework's four positions. See `positionHooks()`. */
  readonly hooks?: readonly PositionHook[];
  /**
   * Whether the tool calls of a reply run at the same time, at most five. Default: false, so they
   * run one after the other.
   */
  readonly parallelToolExecution?: boolean;
  /**
   * Whether all tool calls of a reply wait until each call that needs approval is decided. Default:
   * true, as in Spring AI Alibaba. With false, only tool calls that need approval wait.
   */
  readonly deferRound?: boolean;
  /**
   * Values of the session, from `stateKeys()`. They become part of the middleware, and variables of
   * the system prompt.
   */
  readonly state?: Middleware & { of(source: StateSource): { all(): object } };
  /**
   * More variables of the system prompt. They have precedence over the session's values, and the
   * session's values over `{input}`.
   */
  readonly variables?: PromptVariablesOptions['variables'];
}

/**
 * Returns Spring AI Alibaba's ReactAgent for an agent's `use` list:
 * - there is no limit of iterations: add `modelRequestLimit()` to the list;
 * - tool calls run one after the other, or five at the same time;
 * - hooks after the agent and the model run in reverse order;
 * - if no agent call runs, a requested pause stops the next agent call before its first model
 *   request;
 * - while a tool call of a reply waits for approval, no tool call of that reply runs;
 * - the system prompt is a template, which is rendered once per agent call;
 * - in the template, `{input}` is the text of the input, and `{name}` a value of `state` or
 *   `variables`.
 *
 * Other features are the same as Isoloop's: tool timeouts of 5 minutes, `returnDirect`, and an
 * error result for an unknown tool. In both, only tool calls without a result run. A failure of the
 * model rejects the agent call; in Spring AI Alibaba it becomes an answer. Throws `CONFIGURATION`
 * for two hooks of the same name.
 */
export function springAiAlibaba(options: SpringAiAlibabaOptions = {}): readonly Middleware[] {
  checkOptions('springAiAlibaba()', options, springAiAlibabaOptions);
  const { hooks = [], parallelToolExecution = false, deferRound = true } = options;
  const { state, variables = {} } = options;
  const variablesOf = async (call: PromptCall): Promise<TemplateVariables> => {
    const values = state?.of(call).all() as TemplateVariables | undefined;
    const ownVariables = typeof variables === 'function' ? variables(call) : variables;
    return { input: userText(call.input), ...values, ...(await ownVariables) };
  };
  const limits = { iterations: Infinity, parallelTools: parallelToolExecution ? 5 : 1 };
  return definePreset([
    { name: 'springAiAlibaba', defaults: { limits, interruptWhenIdle: pauseNextCall, deferRound } },
    ...(deferRound ? [approvals()] : []),
    positionHooks(hooks),
    ...(state ? [state] : []),
    promptVariables({ form: '{}', variables: variablesOf }),
  ]);
}

const springAiAlibabaOptions: OptionTable<SpringAiAlibabaOptions> = {
  hooks: optional(array),
  parallelToolExecution: optional(boolean),
  deferRound: optional(boolean),
  state: optional(withMethod('of')),
  variables: optional(either(object, func)),
};
