import { textWithUrls } from './text-with-urls.ts';
import type { Awaitable, EarlyRun, Msg } from '@isoloop/core';
import type { GuardCategory } from '@isoloop/core/error';
import { checkFields, checkOptions, func } from '@isoloop/core/options';
import type { Rejection } from '../rejection.ts';
import {
  inputGuardOptions,
  inputGuardOf,
  type InputGuard,
  type InputGuardOptions,
} from './input-guard.ts';

/** Function that classifies a text. It returns `pass` or the reason for a rejection. */
export type Classifier = (
  text: string,
  run: EarlyRun,
) => Awaitable<'pass' | GuardCategory | Rejection>;

/**
 * Creates a guard from your classifier, which may ask a small model. The classifier gets the text
 * of the input. It returns `pass`, a category or a rejection.
 */
export function classifierGuard(
  classifier: Classifier,
  options: InputGuardOptions = {},
): InputGuard {
  checkFields('classifierGuard()', { classifier }, { classifier: func });
  checkOptions('classifierGuard()', options, inputGuardOptions);
  const check = async (input: readonly Msg[], run: EarlyRun) => {
    const text = textWithUrls(input);
    // The input has no text if the agent call resumes from the session log.
    if (!text) return input;
    const verdict = await classifier(text, run);
    if (verdict === 'pass') return input;
    return typeof verdict === 'string' ? { category: verdict } : verdict;
  };
  return inputGuardOf('classifierGuard', check, options);
}
