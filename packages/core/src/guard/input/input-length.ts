import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { textOf } from '../../message/message-text.ts';
import type { InputStage } from './input-stage.ts';

export interface InputLengthOptions {
  /**
   * Characters (UTF-16 units), without white space at both ends; default 1. Does not hold for
   * messages with media.
   */
  readonly min?: number;
  /** Default 5,000. */
  readonly max?: number;
}

/**
 * Bounds the text of a call's input, all messages but tools' results together (Arc Reactor:
 * `DefaultInputValidationStage`).
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
