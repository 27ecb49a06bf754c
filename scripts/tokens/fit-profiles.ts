import { countFeatures } from '../../packages/core/src/tokens/text-features.ts';
import { readSegments, tokenizers, type Segment } from './corpus.ts';
import { jamoWeight, weightPriors } from './features.ts';
import { fitWeights } from './fit-weights.ts';
import { quantizeWeights } from './quantize-weights.ts';

/**
 * The tokenizer families of the profile `generic`, which fits the geometric mean of their token
 * counts.
 */
const genericFamilies: readonly string[] = [
  'o200k',
  'qwen3',
  'llama3',
  'deepseek3',
  'gemma3',
  'mistral',
  'claude3',
  'claude5',
];

/**
 * Fits the weights of each tokenizer and of `generic` to the training texts only. In the result,
 * each character encodes one weight.
 */
export function fitProfiles(): ReadonlyMap<string, string> {
  const segments = readSegments('train');
  const rows = segments.map(({ text }) => Float64Array.from(countFeatures(text)));
  const importance = importanceOf(segments);
  const fit = (name: string, tokens: readonly number[], jamo: number): string => {
    const input = { rows, tokens, importance, priors: weightPriors(name, jamo) };
    return quantizeWeights(fitWeights(input), input);
  };
  const columns = genericFamilies.map((family) => tokenizers.indexOf(family));
  const fitted = tokenizers.map((name, column) => {
    const tokens = segments.map(({ counts }) => counts[column]!);
    return [name, fit(name, tokens, jamoWeight(name))] as const;
  });
  const genericTokens = segments.map(({ counts }) =>
    eighthRoot(columns.map((column) => counts[column]!)),
  );
  return new Map([
    ...fitted,
    ['generic', fit('generic', genericTokens, eighthRoot(genericFamilies.map(jamoWeight)))],
  ]);
}

/**
 * Returns the importance of each text. It grows with the size of the group and the length of the
 * text, but more slowly. English counts twice, because prompts, tools and comments are in English
 * in all conversations.
 */
function importanceOf(segments: readonly Segment[]): readonly number[] {
  const sizes = new Map<string, number>();
  for (const { group } of segments) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  return segments.map(({ group, text }) => {
    const length = Math.sqrt(Math.sqrt(text.length / 300));
    return (length * (group === 'english' ? 2 : 1)) / Math.sqrt(sizes.get(group)!);
  });
}

/**
 * Returns the geometric mean of eight numbers. Uses square roots, because the result of `Math.pow`
 * may differ between machines.
 */
function eighthRoot(values: readonly number[]): number {
  const product = values.reduce((a, b) => a * b, 1);
  return Math.sqrt(Math.sqrt(Math.sqrt(product)));
}
