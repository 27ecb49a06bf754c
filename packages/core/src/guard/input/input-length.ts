import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { textOf } from '../../message/message-text.ts';
import type { InputStage } from './input-stage.ts';

export interface InputLengthOptions {
  /**
   * Minimum length of the input in characters (UTF-16 units), without white space at both ends.
   * Default 1. The minimum does not apply to input with media.
   */
  readonly min?: number;
  /** Maximum length of the input in the same unit. Default 5,000. */
  readonly max?: number;
}

/**
 * Limits the length of an agent call's input. Counts the texts of all messages together, without
 * tool results (Arc Reactor: `DefaultInputValidationStage`).
 */
export function inputLength(options: InputLengthOptions = {}): InputStage {
  checkFields('CONFIGURATION', 'inputLength()', options, 'min:count|? max:count|?');
  const { min = 1, max = 5_000 } = options;
  if (min > max)
    throw new AgentError('CONFIGURATION', `inputLength(): min ${min} is more than max ${max}.`);
  return {
    name: 'inputLength',
    check(input) {
      const said = input.filter(({ role }) => role !== 'tool');
      const length = said.map(textOf).join('\n').trim().length;
      const hasMedia = said.some(({ content }) => content.some((block) => 'source' in block));
      if (length <= max && (length >= min || hasMedia || !said.length)) return input;
      return { category: 'INVALID_INPUT', details: { length, min, max } };
    },
  };
}
