import { textsOf, mapTexts } from '@isoloop/core/message';
import {
  type Middleware,
  type EventOf,
  toolMessage,
  toolResultsOf,
  type ToolResult,
  type Msg,
} from '@isoloop/core';
import { checkOptions, boolean, optional, type OptionTable } from '@isoloop/core/options';
import { inputGuardOf } from '../input/input-guard.ts';
import { isGuardRejection, reporter, type Rejection, type ReportGuardError } from '../rejection.ts';
import { replaceFindings } from '../output/apply-rule.ts';
import { piiRuleOptions, piiRuleOf, type PiiRuleOptions } from './pii-rule.ts';
import {
  outputGuardOptions,
  outputGuardsOf,
  type OutputGuardOptions,
} from '../output/output-guards.ts';

/** Where `piiGuard()` looks for personal data, and what it does with it. */
export interface PiiGuardOptions extends PiiRuleOptions, OutputGuardOptions {
  /** Whether to check the input of an agent call. Default: true. */
  readonly input?: boolean;
  /**
   * Whether to check the model's replies, also while they stream. Tool results that are the answer
   * (`returnDirect`) are checked too. Default: false.
   */
  readonly output?: boolean;
  /** Whether to check tool results before the model and the log get them. Default: false. */
  readonly toolResults?: boolean;
}

/**
 * Applies `piiRule` to input, replies and tool results as one middleware. The default of `kinds` is
 * that of `piiRule`.
 *
 * With action `reject`, an agent call with personal data in its input or reply ends as `rejected`.
 * A tool result with personal data is withheld: the model gets an error result instead. If a check
 * fails, the data is rejected or withheld. Arguments of tool calls and the progress of tools are
 * not checked.
 *
 * Put this middleware before middleware that retries or changes models. Throws `CONFIGURATION` for
 * an option of the wrong kind. Source: Spring AI Alibaba, PII hook.
 */
export function piiGuard(options: PiiGuardOptions = {}): Middleware {
  checkOptions('piiGuard()', options, piiGuardOptions);
  const { input = true, output = false, toolResults = false, action } = options;
  const rule = piiRuleOf('piiGuard()', options);
  const report = reporter(options);
  const check = (messages: readonly Msg[]): readonly Msg[] | Rejection => {
    if (action !== 'reject')
      return mapTexts(messages, (text) => replaceFindings(text, rule.find(text)));
    const isFound = textsOf(messages).some((text) => rule.find(text).length > 0);
    return isFound ? { category: 'INVALID_INPUT' } : messages;
  };
  const review = (event: EventOf<'post-acting'>): EventOf<'post-acting'> | undefined => {
    const result = checkedResult(event.result, check, report);
    return result === event.result ? undefined : { ...event, result };
  };
  return {
    ...(output && outputGuardsOf([rule], options)),
    ...(input && inputGuardOf('piiGuard', check, options)),
    name: 'piiGuard',
    onError: 'fail',
    // Runs before hooks that read results or store them elsewhere.
    ...(toolResults && { on: { 'post-acting': { handle: review, priority: -10_000 } } }),
  };
}

const piiGuardOptions: OptionTable<PiiGuardOptions> = {
  input: optional(boolean),
  output: optional(boolean),
  toolResults: optional(boolean),
  ...piiRuleOptions,
  ...outputGuardOptions,
};

/** Returns the result after the check. Returns an error result in its place if the check fails. */
function checkedResult(
  result: ToolResult,
  check: (messages: readonly Msg[]) => readonly Msg[] | Rejection,
  report: ReportGuardError,
): ToolResult {
  const messages = [toolMessage(result)];
  try {
    const checked = check(messages);
    if (!isGuardRejection(checked))
      return checked[0] === messages[0] ? result : toolResultsOf(checked[0]!)[0]!;
  } catch (error) {
    report(error, 'piiGuard');
  }
  return { ...result, output: withheld, state: 'error' };
}

const withheld = 'Error: The result contains personal data and was withheld.';
