import { expect, test } from 'vitest';
import * as tokens from '@isoloop/core/tokens';
import { estimateTokens, type TokenProfile } from '@isoloop/core/tokens';
import { readSegments, tokenizers } from '../../scripts/tokens/corpus.ts';
import {
  accuracyByGroup,
  accuracyOf,
  errorsOf,
  histories,
  historyErrors,
} from '../../scripts/tokens/measure.ts';

const held = readSegments('held');
const profiles = tokens as unknown as Readonly<Record<string, TokenProfile>>;
const errors = new Map(
  tokenizers.map((name) => [
    name,
    errorsOf(held, name, (text) => estimateTokens(text, profiles[name])),
  ]),
);

/** Maximum mean error of each group of the held-out texts. */
const limits: Readonly<Record<string, number>> = {
  korean: 0.075,
  japanese: 0.08,
  'zh-simpl': 0.075,
  'zh-trad': 0.075,
  code: 0.07,
  json: 0.07,
  entropy: 0.06,
  numbers: 0.07,
  emoji: 0.085,
};

test('the corpus has nine tokenizer families, training texts and held-out texts', () => {
  expect(tokenizers).toEqual([
    'o200k',
    'cl100k',
    'qwen3',
    'llama3',
    'deepseek3',
    'gemma3',
    'mistral',
    'claude3',
    'claude5',
  ]);
  expect([readSegments('train').length, held.length]).toEqual([1886, 1243]);
});

test.for(tokenizers)('%s: the estimates of the held-out texts are within the limits', (name) => {
  const { mean, p95, bias } = accuracyOf(errors.get(name)!);
  expect(mean).toBeLessThan(0.07);
  expect(p95).toBeLessThan(0.21);
  expect(Math.abs(bias)).toBeLessThan(0.03);

  const groups = accuracyByGroup(held, errors.get(name)!);
  const means = [...groups.values()].map((group) => group.mean);
  expect(means.reduce((a, b) => a + b) / means.length).toBeLessThan(0.076);
  for (const [group, limit] of Object.entries(limits)) {
    expect(groups.get(group)!.mean, group).toBeLessThan(limit);
  }
});

test.for(tokenizers)(
  '%s: the estimates of conversation histories of 8,000 tokens are within the limits',
  (name) => {
    for (const [history, parts] of Object.entries(histories)) {
      const estimates = held.map(({ text }) => estimateTokens(text, profiles[name]));
      const { mean, p95 } = accuracyOf(historyErrors(held, { parts, tokenizer: name, estimates }));
      expect(mean, history).toBeLessThan(name === 'o200k' ? 0.02 : 0.04);
      expect(p95, history).toBeLessThan(0.08);
    }
  },
);

test('the bias of the profile `generic` is below a third for each tokenizer family', () => {
  for (const name of tokenizers) {
    const { bias } = accuracyOf(
      errorsOf(held, name, (text) => estimateTokens(text, tokens.generic)),
    );
    expect(Math.abs(bias), name).toBeLessThan(0.33);
  }
});
