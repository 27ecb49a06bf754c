import type { WeightPrior } from './fit-weights.ts';

const free = -4;

/**
 * The counters of `packages/core/src/tokens/text-features.ts`, in the same order. `value`
 * is the prior (the expected value) of the counter's weight. `min` is the lowest weight. Default:
 * 0.
 */
const priors: readonly (readonly [name: string, value: number, min?: number])[] = [
  ['words', 0.6],
  ['letters', 0.15],
  ['bigrams', 0.14, free],
  ['hard words', 0, free],
  ['camel', 0.5],
  ['uppercase', 0, free],
  ['vietnamese', 0, free],
  ['digits', 0],
  ['digit groups', 1],
  ['spaced digits', 0],
  ['punctuation marks', 0],
  ['punctuation runs', 0.9],
  ['punctuation words', 0, free],
  ['punctuation lines', 0, free],
  ['newline runs', 1],
  ['space runs', 1.2],
  ['spaced emoji', 0],
  ['repeats', 0, free],
  ['cyrillic runs', 1],
  ['arabic runs', 0.7],
  ['indic runs', 1],
  ['thai runs', 0.5],
  ['hangul runs', 0.5],
  ['tags', 0, free],
  ['cyrillic', 0.25],
  ['cyrillic slavic', 0.6],
  ['cyrillic extended', 0.6],
  ['arabic', 0.4],
  ['arabic extended', 0.4],
  ['bengali', 0.5],
  ['gurmukhi', 0.5],
  ['gujarati', 0.5],
  ['tamil', 0.5],
  ['telugu', 0.5],
  ['malayalam', 0.5],
  ['sinhala', 0.5],
  ['thai', 0.5],
  ['hangul', 0.6],
  ['greek', 0.5],
  ['hebrew', 0.5],
  ['devanagari', 0.4],
  ['lao', 1.5],
  ['tibetan', 1.5],
  ['ethiopic', 1.5],
  ['burmese', 1],
  ['khmer', 1],
  ['georgian', 0.8],
  ['armenian', 0.8],
  ['jamo', 0],
  ['hiragana', 0.6],
  ['katakana', 0.6],
  ['han rare', 1.2],
  ['han common', 0.6, free],
  ['cjk punctuation', 1],
  ['sign', 1],
  ['symbol', 1.8],
  ['box', 1],
  ['emoji', 2],
  ['emoji new', 2.5],
  ['joiner', 1],
  ['mark', 1],
  ['other', 2.5, 1],
];

/**
 * Number of tokens of a single Hangul letter, which is rare in the corpus. Each number is the mean
 * of 19 forms from chats (ㅋㅋ, ㅠㅠ, ㅎㅎ, …).
 */
const jamo: Readonly<Record<string, number>> = {
  o200k: 1.6,
  cl100k: 2.7,
  qwen3: 1.5,
  llama3: 1.4,
  deepseek3: 2.3,
  gemma3: 1,
  mistral: 3.4,
  claude3: 4.4,
  claude5: 4.4,
};

export const featureNames: readonly string[] = priors.map(([name]) => name);

/** Returns the weight of a single Hangul letter (jamo) for a tokenizer. */
export function jamoWeight(tokenizer: string): number {
  const weight = jamo[tokenizer];
  if (weight === undefined)
    throw new Error(`The jamo table has no entry for the tokenizer ${tokenizer}.`);
  return weight;
}

/**
 * The tokenizer families whose vocabulary has tags as single tokens. For other families, a weight
 * of tags would only fit noise in the training texts.
 */
const tagFamilies: readonly string[] = ['gemma3'];

/**
 * Returns the priors of the weights of one tokenizer. The weight of a single Hangul letter is
 * always `jamoTokens`.
 */
export function weightPriors(tokenizer: string, jamoTokens: number): readonly WeightPrior[] {
  const fixed = new Map([['jamo', jamoTokens]]);
  if (!tagFamilies.includes(tokenizer)) fixed.set('tags', 0);
  return priors.map(([name, prior, min = 0]) => {
    const value = fixed.get(name);
    return value === undefined ? { value: prior, min, max: 4 } : { value, min: value, max: value };
  });
}
