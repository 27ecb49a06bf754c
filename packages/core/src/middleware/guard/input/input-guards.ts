import { misconfigured, checkFields, checkOptions } from '../../../error/agent-error.ts';
import type { GuardCategory } from '../../../error/user-error-text.ts';
import type { RunContext } from '../../../agent/middleware.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { Msg } from '../../../message/msg.ts';
import { textWithUrls, textsOf } from '../message-texts.ts';
import type { Rejection } from '../rejection.ts';
import {
  inputGuardOf,
  inputGuardFields,
  type InputGuard,
  type InputGuardOptions,
} from './input-guard.ts';

/** Function that classifies a text. It returns `pass` or the reason for a rejection. */
export type Classifier = (
  text: string,
  context: RunContext,
) => Awaitable<'pass' | GuardCategory | Rejection>;

/**
 * Creates a guard from your classifier, which may ask a small model. The classifier gets the text
 * of the input. It returns `pass`, a category or a rejection.
 */
export function classifierGuard(
  classifier: Classifier,
  options: InputGuardOptions = {},
): InputGuard {
  checkFields('classifierGuard()', { classifier }, 'classifier:function');
  checkOptions('classifierGuard()', options, inputGuardFields);
  const check = async (input: readonly Msg[], context: RunContext) => {
    const text = textWithUrls(input);
    // The input has no text if the agent call resumes from the session log.
    if (!text) return input;
    const verdict = await classifier(text, context);
    if (verdict === 'pass') return input;
    return typeof verdict === 'string' ? { category: verdict } : verdict;
  };
  return inputGuardOf('classifierGuard', check, options);
}

/**
 * Creates a guard that checks whether a user may use the agent. `allows` must return `true` to let
 * the input pass. Any other value rejects it with `UNAUTHORIZED`.
 */
export function permissionGuard(
  allows: (context: RunContext, input: readonly Msg[]) => Awaitable<boolean>,
  options: InputGuardOptions = {},
): InputGuard {
  checkFields('permissionGuard()', { allows }, 'allows:function');
  checkOptions('permissionGuard()', options, inputGuardFields);
  const check = async (input: readonly Msg[], context: RunContext) => {
    const isAllowed = (await allows(context, input)) === true;
    return isAllowed ? input : ({ category: 'UNAUTHORIZED' } as const);
  };
  return inputGuardOf('permissionGuard', check, options);
}

/** The longest input that `lengthGuard()` lets pass. */
export interface LengthGuardOptions extends InputGuardOptions {
  /**
   * Minimum length of the input in characters (UTF-16 units), without white space at both ends.
   * Default 1. The minimum does not apply to input with media.
   */
  readonly min?: number;
  /** Maximum length of the input in the same unit. Default 5,000. */
  readonly max?: number;
}

/**
 * Limits the length of an agent call's input. Counts all texts together that a client sent and the
 * model will read, also names, tool results and declarations of tools. Does not count the addresses
 * of files (Arc Reactor: `DefaultInputValidationStage`).
 */
export function lengthGuard(options: LengthGuardOptions = {}): InputGuard {
  checkOptions('lengthGuard()', options, `min:nonNegative|? max:nonNegative|? ${inputGuardFields}`);
  const { min = 1, max = 5_000 } = options;
  if (min > max) throw misconfigured(`lengthGuard(): min ${min} is more than max ${max}.`);
  const check = (input: readonly Msg[]): readonly Msg[] | Rejection => {
    const length = textsOf(input).join('\n').trim().length;
    const hasMedia = input.some(({ content }) => content.some((block) => 'source' in block));
    if (length <= max && (length >= min || hasMedia || !input.length)) return input;
    return { category: 'INVALID_INPUT', details: { length, min, max } };
  };
  return inputGuardOf('lengthGuard', check, options);
}
