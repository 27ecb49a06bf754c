import { type Middleware, textOf, type Msg, AgentError } from '@isoloop/core';
import { isEnding, type Ending, type Next } from '@isoloop/core/agent';
import { callListener } from '@isoloop/core/error';
import {
  checkFields,
  checkOptions,
  array,
  boolean,
  either,
  func,
  nonNegative,
  oneOf,
  optional,
  string,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { isAnswerReason } from '@isoloop/core/event';
import { runInfo, type RunInfo } from '@isoloop/core/model';
import { arc, type TokenProfile } from '@isoloop/core/tokens';
import { guardOptions, rejectionError, reporter, type GuardOptions } from '../rejection.ts';
import { checkedRule } from './checked-rule.ts';
import type { ReplyGuards } from './guarded-reply.ts';
import { guardedStream } from './guarded-stream.ts';
import type { OutputAction, OutputRule } from './output-rule.ts';
import { reviewAnswer } from './review-answer.ts';

// The way of a reply: `guarded-stream.ts`, or `review-answer.ts` if no model wrote it, then
// `guarded-reply.ts`, `guarded-parts.ts`, `rule-window.ts`, `apply-rule.ts`, `checked-rule.ts`.

/**
 * How much text `outputGuards()` withholds until it is checked, and who hears of the effects of its
 * rules.
 */
export interface OutputGuardOptions extends GuardOptions {
  /**
   * Number of characters of streamed text to withhold. Readers then never see text that a rule
   * changes later. Default: 64, which is longer than any number and most e-mail addresses. `all`
   * withholds the whole reply until its end.
   */
  readonly lookahead?: number | 'all';
  /**
   * Whether `find` of the rules also checks the model's thinking. Default: false, so thinking
   * passes unchanged.
   */
  readonly thinking?: boolean;
  /**
   * Function that gets the effect of each rule on a reply. It is called at the end of the reply,
   * once per rule and action. An answer that hooks or inner middleware change counts as another
   * reply. An exception of this function is logged to the console.
   */
  readonly onAction?: (action: OutputAction) => void;
  /**
   * Token profile that estimates the usage of a reply that fails or is rejected before the provider
   * reports its usage. Default: `arc`.
   */
  readonly profile?: TokenProfile;
}

const outputRule: OptionTable<OutputRule> = {
  name: string,
  find: optional(func),
  withheldFrom: optional(func),
  review: optional(func),
  releaseAtMost: optional(nonNegative),
};

export const outputGuardOptions: OptionTable<OutputGuardOptions> = {
  lookahead: optional(either(nonNegative, oneOf('all'))),
  thinking: optional(boolean),
  onAction: optional(func),
  profile: optional(withMethod('countText')),
  ...guardOptions,
};

/**
 * Checks and changes what the model says, by rules such as `piiRule()`. Applies the rules in order
 * to each reply, streamed or not. Hooks, readers and the session log get the reply after the rules.
 *
 * The rules also check answers that no model wrote. One is the direct answer of a tool. Another is
 * a text that `post-reasoning` hooks or inner middleware put in the place of a reply. About such a
 * changed text, a rule cannot ask the model again, and readers get a hook's text before the check.
 *
 * The rules do not check what `post-call` hooks change, or what anything changes in a structured
 * answer. Nor do they check messages that are no answer. These are an ending that replaces a
 * request, the message of an interrupt, and that of a hook that ends the run with reason
 * `stopped-by-hook`.
 *
 * The rules check text. If `structured()` gets its value through a tool, the rules also check the
 * strings and numbers of that value. Other tool calls and media pass unchecked. If `textToolCalls`
 * corrects a reply, the copy in the session log passes unchecked.
 *
 * The whole reply is checked again at its end. If text that was already sent has to change, a
 * `step-reset` takes the text back. A rejected reply ends the agent call with reason `rejected` and
 * `error.code` `GUARD_REJECTED`, and is not stored. A rule that throws rejects the reply. The cost
 * of an incomplete reply is estimated.
 *
 * Summaries of `summarizeHistory` pass unchecked: only the model sees them, and its next reply is
 * checked. Put this middleware before middleware that retries or changes models, so that the rules
 * check the output of all models.
 *
 * @example
 * use: [outputGuards([piiRule(), lengthRule({ max: 4000 })])];
 */
export function outputGuards(
  rules: readonly OutputRule[],
  options: OutputGuardOptions = {},
): Middleware {
  checkFields('outputGuards()', { rules }, { rules: array });
  checkOptions('outputGuards()', options, outputGuardOptions);
  for (const rule of rules) {
    checkFields('A rule of outputGuards()', rule, outputRule);
    if (!rule.find && !rule.review)
      throw new AgentError(
        'CONFIGURATION',
        `The rule "${rule.name}" needs a function \`find\` or \`review\`.`,
      );
  }
  return outputGuardsOf(rules, options);
}

/** Works as `outputGuards`, without a check of its arguments. */
export function outputGuardsOf(
  rules: readonly OutputRule[],
  options: OutputGuardOptions,
): Middleware {
  const { lookahead = 64, thinking = false, profile = arc } = options;
  const report = reporter(options);
  const checkedRules = rules.map((rule) => checkedRule(rule, report));
  const guardsOf = (run: RunInfo | undefined): ReplyGuards => ({
    rules: checkedRules,
    lookahead,
    thinking,
    profile,
    run,
    onAction: (action) =>
      callListener(options.onAction, { ...action, ...(run && { run: runInfo(run) }) }),
    errorOf: ({ rule, rejection }) => rejectionError(rule, rejection, options),
  });
  return {
    name: 'outputGuards',
    wrapModel: (next) => ({
      provider: next.provider,
      modelId: next.modelId,
      features: { ...next.features, guarded: true },
      stream: (request, context) =>
        request.replyFor === 'model'
          ? next.stream(request, context)
          : guardedStream(next, request, context, guardsOf(context.run)),
    }),
    wrapReply: async (reply, next, run) => {
      const guards = guardsOf(run);
      let message: Msg | undefined = reply.message;
      // A reply of the model was checked while it arrived.
      if (!reply.request) message = await reviewAnswer(message, guards, true);
      if (!message) return { to: 'model' };
      const outcome = await next({ ...reply, message });
      if (!isChanged(outcome, message)) return outcome;
      // The model did not write this text, so no rule may ask it for another one.
      const changed = await reviewAnswer(outcome.message, guards, false);
      return { ...outcome, message: changed! };
    },
  };
}

/**
 * Returns whether hooks or inner middleware gave the run another answer than `checked`. The text of
 * a structured answer is its value, which was checked. The message of an interrupt, or with which a
 * hook stops the run, is no answer.
 */
function isChanged(outcome: Next, checked: Msg): outcome is Ending & { readonly message: Msg } {
  if (!isEnding(outcome) || !outcome.message || outcome.output !== undefined) return false;
  const { kind, reason } = outcome;
  const isStopMessage = kind === 'custom' && reason === 'stopped-by-hook';
  if (isStopMessage || !isAnswerReason(reason)) return false;
  return textOf(outcome.message) !== textOf(checked);
}
