import { expect, test } from 'vitest';
import { documentsText } from '@isoloop/core/message';
import { estimateTokens } from '@isoloop/core/tokens';
import { fittingDocuments } from './find-documents.ts';

test('fittingDocuments() keeps the documents that fit, in order, and cuts the first document if it is too long', () => {
  const long = { content: 'long '.repeat(200) };
  const [short, other] = [
    { content: 'short', source: 's' },
    { content: 'other', source: 'o' },
  ];
  expect(fittingDocuments([short, long, other], 40)).toEqual([short, other]);
  for (const maxTokens of [1, 5, 40, 100]) {
    const chosen = fittingDocuments([long, short], maxTokens);
    expect(estimateTokens(documentsText(chosen))).toBeLessThanOrEqual(maxTokens);
    if (maxTokens > 1) expect(chosen[0]!.content).toMatch(/^long .*…$/s);
  }
  const emoji = fittingDocuments([{ content: '😀'.repeat(100) }], 20);
  expect(emoji[0]!.content).toMatch(/^(😀)+…$/u);
});

test('fittingDocuments() counts with the given token profile', () => {
  const perCharacter = {
    name: 'x',
    countText: (text: string) => text.length,
    perMessage: 0,
    perToolCall: 0,
    perMedia: 0,
  };
  expect(fittingDocuments([{ content: 'abcdefghij' }], 8, perCharacter)).toEqual([
    { content: 'abc…' },
  ]);
});
