import { expect, test } from 'vitest';
import vectors from '@test/fixtures/golden/arc-tokens.json?raw';
import { arc } from './arc-profile.ts';
import { estimateTokens } from './estimate-tokens.ts';
import type { TokenProfile } from './token-profile.ts';

interface Vector {
  readonly text: string;
  readonly repeat: number | null;
  readonly tokens: number;
}

const cases: readonly Vector[] = JSON.parse(vectors);

test.for(cases)('with arc, $text counts as $tokens', ({ text, repeat, tokens }) => {
  expect(estimateTokens(text.repeat(repeat ?? 1))).toBe(tokens);
});

test('with arc, four Latin letters count as a token', () => {
  expect(estimateTokens('a'.repeat(8000))).toBe(2000);
  expect(estimateTokens('é')).toBe(1);
  expect(estimateTokens('안녕하세요')).toBe(3);
});

test('with arc, a surrogate pair counts once, and a lone surrogate counts as a character', () => {
  expect(estimateTokens('😀😀')).toBe(2);
  expect(estimateTokens('𠀀𠀀𠀀')).toBe(1);
  expect(estimateTokens('\ud83d'.repeat(6))).toBe(2);
  expect(estimateTokens('\ude00'.repeat(6))).toBe(2);
  expect(estimateTokens('😀'.repeat(3) + '\ud83d')).toBe(3);
});

test('arc has the same character ranges as Arc Reactor', () => {
  const emoji = ['\u2600', '\u27bf', '\ufe00', '\ufe0f', '\u{1f300}', '\u{1faff}'];
  const cjk = ['\u4e00', '\u9fff', '\uac00', '\ud7af', '\u3040', '\u309f', '\u30a0', '\u30ff'];
  const other = [
    '\u0080',
    '\u25ff',
    '\u27c0',
    '\u303f',
    '\u3100',
    '\u4dff',
    '\ua000',
    '\ud7b0',
    '\ufdff',
    '\ufe10',
    '\u{1f2ff}',
    '\u{1fb00}',
  ];
  for (const character of emoji) expect(estimateTokens(character.repeat(6))).toBe(6);
  for (const character of cjk) expect(estimateTokens(character.repeat(6))).toBe(4);
  for (const character of other) expect(estimateTokens(character.repeat(6))).toBe(2);
});

test('another profile counts in its own way', () => {
  const bytes: TokenProfile = {
    ...arc,
    name: 'bytes',
    countText: (text) => new TextEncoder().encode(text).length,
  };
  expect(estimateTokens('中文', bytes)).toBe(6);
});
