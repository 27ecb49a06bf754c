import { textsOf } from '@isoloop/core/message';
import { AgentError, type Msg } from '@isoloop/core';
import { checkOptions, nonNegative, optional, type OptionTable } from '@isoloop/core/options';
import type { Rejection } from '../rejection.ts';
import {
  inputGuardOptions,
  inputGuardOf,
  type InputGuard,
  type InputGuardOptions,
} from './input-guard.ts';

/** The longest input that `lengthGuard()` lets pass. */
export interface LengthGuardOptions extends InputGuardOptions {
  /**
   * Minimum length of the input in characters (UTF-16 units), without white space at both ends.
   * Default: 1. The minimum does not apply to input with media.
   */
  readonly min?: number;
  /** Maximum length of the input in the same unit. Default: 5,000. */
  readonly max?: number;
}

/**
 * Limits the length of an agent call's input. Counts all texts together that a client sent and the
 * model will read, also names, tool results and declarations of tools. Does not count the addresses
 * of files. Source: Arc Reactor, `DefaultInputValidationStage`.
 */
export function lengthGuard(options: LengthGuardOptions = {}): InputGuard {
  checkOptions('lengthGuard()', options, lengthGuardOptions);
  const { min = 1, max = 5_000 } = options;
  if (min > max)
    throw new AgentError('CONFIGURATION', `lengthGuard(): min ${min} is more than max ${max}.`);
  const check = (input: readonly Msg[]): readonly Msg[] | Rejection => {
    const length = textsOf(input).join('\n').trim().length;
    const hasMedia = input.some(({ content }) => content.some((block) => 'source' in block));
    if (length <= max && (length >= min || hasMedia || !input.length)) return input;
    return { category: 'INVALID_INPUT', details: { length, min, max } };
  };
  return inputGuardOf('lengthGuard', check, options);
}

const lengthGuardOptions: OptionTable<LengthGuardOptions> = {
  min: optional(nonNegative),
  max: optional(nonNegative),
  ...inputGuardOptions,
};
