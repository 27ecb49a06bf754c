import { answersOnly, lastTurns, successfulTurns } from '@isoloop/core/context';
import type { WeightedHistoryOptions } from './weighted-history.ts';
import {
  checkOptions,
  boolean,
  either,
  func,
  nonNegative,
  object,
  oneOf,
  optional,
  string,
  whole,
  type OptionTable,
} from '@isoloop/core/options';
import { showToolMedia } from '@isoloop/core/model';
import { omitUndefined, userText } from '@isoloop/core/message';
import { modelTimeout, retry, toolRetry } from '@isoloop/core/resilience';
import {
  parseToolCalls,
  type ReplyParser,
  type CheckAnswer,
  textToolCalls,
  type TextToolCallsOptions,
  checkAnswers,
} from '@isoloop/core/text-protocol';
import type { Middleware } from '@isoloop/core';
import { definePreset } from '@isoloop/core/agent';
import { summaryFallback } from '@isoloop/core/answer';
import { concurrencyLimit, Semaphore, defaultToolTimeout } from '@isoloop/core/limits';
import type { FriendlyText } from '@isoloop/core/event';
import { answerFromObservations } from './answer-from-observations.ts';
import { parseOxygent } from './parse-oxygent.ts';
import { trustedCalls } from './trusted-calls.ts';
import { defaultErrorText, friendlyErrors } from './friendly-errors.ts';
import { parallelIds } from './parallel-ids.ts';
import { reactMemory } from './react-memory.ts';
import { oxygentHistory } from './oxygent-history.ts';
import { promptVariables, type PromptVariablesOptions } from '@isoloop/core/prompt';

/** Memory, protocol and prompt of `oxygent()`. */
export interface OxygentOptions extends Pick<
  WeightedHistoryOptions,
  'shortWeight' | 'reactWeight' | 'order'
> {
  /**
   * Maximum number of iterations of reasoning and acting (OxyGent: `max_react_rounds`). Default:
   * 16, as in OxyGent's document; OxyGent's code allows 17.
   */
  readonly maxRounds?: number;
  /**
   * Number of earlier agent calls that the model sees. Default: 10 (OxyGent: `short_memory_size`).
   */
  readonly shortMemorySize?: number;
  /**
   * Whether the model sees only the questions and answers of earlier agent calls. Default: true.
   * With false, the model also sees the steps between them, by weight, up to `memoryMax` (OxyGent:
   * `is_discard_react_memory`).
   */
  readonly discardReactMemory?: boolean;
  /**
   * Maximum size of earlier agent calls, if `discardReactMemory` is false. Default: 24,800
   * (OxyGent: `memory_max_tokens`, which counts characters).
   */
  readonly memoryMax?: number;
  /** Unit of `memoryMax`. Default: `characters`. `tokens` are estimated (see `weightedHistory`). */
  readonly memoryUnit?: 'characters' | 'tokens';
  /**
   * How the model calls tools. `parse` replaces OxyGent's parser and gets that parser as its last
   * argument (OxyGent: `func_parse_llm_response`). A JSON list in a reply makes several tool calls,
   * as in OxyGent's document. OxyGent's code reads one tool call per reply; `parallel: false` does
   * the same. `false` uses the model's native tool calls, with the media in their results.
   */
  readonly protocol?: TextToolCallsOptions | false;
  /**
   * Checks each answer. A returned text is sent to the model as a correction. `protocol.check`
   * has precedence over this option. Empty answers are corrected in any case (OxyGent:
   * `func_reflexion`).
   */
  readonly reflect?: CheckAnswer;
  /**
   * Whether a tool's result is the answer, without `Tool […] execution result:` (OxyGent:
   * `trust_mode`). Default: false. Then it is the answer only if the model adds `"trust_mode": 1`
   * to its tool call, or the tool sets `returnDirect`. The model always gets the result of a failed
   * tool call.
   */
  readonly trustMode?: boolean;
  /**
   * More values for `${name}` in the system prompt. `${query}` is the text of the agent call's
   * input, and `${tools_description}` describes the tools. `callVariables` in the `toolContext` of
   * an agent call adds values for that call. A variable without a value stays as written. With
   * `false`, the system prompt is not a template (OxyGent: `_build_instruction`).
   */
  readonly promptVariables?: PromptVariablesOptions | false;
  /**
   * Text for the user if an agent call fails, or if the request after the last iteration fails
   * (OxyGent: `friendly_error_text`). Default: the text of `friendlyErrors`.
   */
  readonly friendlyErrorText?: FriendlyText;
}

/**
 * Returns OxyGent's ReAct agent for an agent's `use` list:
 * - tool calls are JSON in the text of the reply, parsed as in OxyGent; a list makes several tool
 *   calls;
 * - after 16 iterations, the model answers from all tool results; if that fails, the answer is the
 *   text for the user;
 * - the model sees the questions and answers of the last ten successful agent calls;
 * - with `discardReactMemory: false`, it also sees their steps, by weights of 5 and 1 within 24,800
 *   characters;
 * - at most 16 agent calls run at the same time;
 * - a transient failure of the model and any failure of a tool are retried once, after a second, so
 *   tools may run twice;
 * - a tool without a time limit of its own has an hour, and a model request has five minutes;
 * - the system prompt is a template, with `${query}` and `${tools_description}`;
 * - the user gets a text if an agent call with `throwOnError: false` fails;
 * - results have `reactMemory`, and events have `parallelId`.
 *
 * Agents with the same returned list share its 16 places, also if one agent calls another as a
 * tool. An agent keeps its slot while it waits for the other agent. Throws `CONFIGURATION` for an
 * option of the wrong kind.
 */
export function oxygent(options: OxygentOptions = {}): readonly Middleware[] {
  checkOptions('oxygent()', options, oxygentOptions);
  checkOptions('oxygent(): protocol', options.protocol || {}, protocolOptions);
  const { maxRounds = 16, shortMemorySize = 10, discardReactMemory = true, trustMode } = options;
  const { friendlyErrorText = defaultErrorText, promptVariables: variableOptions = {} } = options;
  // Two tries in total and no jitter, as in OxyGent.
  const retryOptions = { attempts: 2, firstDelayMs: 1_000, random: () => 0.5 };
  return definePreset([
    {
      name: 'oxygent',
      defaults: {
        limits: { iterations: maxRounds },
        onLimit: answerFromObservations(),
        returnDirect: trustMode || trustedCalls,
      },
    },
    // Comes first, because text that other middleware adds to the system prompt is not a template.
    ...(variableOptions ? [promptVariables(withQuery(variableOptions))] : []),
    concurrencyLimit(new Semaphore(16)),
    friendlyErrors(friendlyErrorText),
    summaryFallback({ text: friendlyErrorText }),
    reactMemory(),
    parallelIds(),
    ...protocolMiddleware(options),
    retry(retryOptions),
    modelTimeout({ totalMs: 300_000 }),
    toolRetry({ ...retryOptions, isTransient: () => true }),
    defaultToolTimeout(3_600_000),
    successfulTurns(),
    lastTurns(shortMemorySize),
    discardReactMemory ? answersOnly() : earlierSteps(options),
  ]);
}

const oxygentOptions: OptionTable<OxygentOptions> = {
  shortMemorySize: optional(whole),
  maxRounds: optional(nonNegative),
  memoryMax: optional(nonNegative),
  shortWeight: optional(nonNegative),
  reactWeight: optional(nonNegative),
  memoryUnit: optional(oneOf('characters', 'tokens')),
  discardReactMemory: optional(boolean),
  trustMode: optional(boolean),
  order: optional(func),
  reflect: optional(func),
  friendlyErrorText: optional(either(string, func)),
  protocol: optional(either(object, boolean)),
  promptVariables: optional(either(object, boolean)),
};

const protocolOptions: OptionTable<TextToolCallsOptions> = {
  parse: optional(func),
  check: optional(func),
  prompt: optional(func),
  parallel: optional(boolean),
  textBeforeThinking: optional(oneOf('keep', 'drop')),
};

/** Returns the middleware for tool calls and for the correction of answers. */
function protocolMiddleware({ protocol = {}, reflect }: OxygentOptions): readonly Middleware[] {
  const { check = reflect } = protocol || {};
  const checkOption = check && { check };
  return protocol === false
    ? [checkAnswers(checkOption), showToolMedia()]
    : [
        textToolCalls({
          textBeforeThinking: 'drop',
          ...protocol,
          ...checkOption,
          parse: parserOf(protocol),
        }),
      ];
}

function earlierSteps(options: OxygentOptions): Middleware {
  const { shortWeight, reactWeight, order, memoryMax: max, memoryUnit: unit } = options;
  return oxygentHistory(omitUndefined({ shortWeight, reactWeight, order, max, unit }));
}

/** Adds OxyGent's own variables to the given variables. */
function withQuery(options: PromptVariablesOptions): PromptVariablesOptions {
  const { variables = {} } = options;
  return {
    toolsVariable: 'tools_description',
    ...options,
    async variables(call) {
      const values = await (typeof variables === 'function' ? variables(call) : variables);
      return { additional_prompt: '', query: userText(call.input), ...values };
    },
  };
}

/** Returns the parser of replies. A custom parser gets OxyGent's parser as its last argument. */
function parserOf({ parse = parseOxygent }: TextToolCallsOptions): ReplyParser {
  // The protocol recognizes the default parser by identity and then withholds less text.
  if (parse === parseToolCalls) return parse;
  return (reply, context) => parse(reply, context, (text) => parseOxygent(text, context));
}
