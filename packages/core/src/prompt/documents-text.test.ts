import { expect, test } from 'vitest';
import { estimateTokens } from '../tokens/estimate-tokens.ts';
import { documentsText, fittingDocuments } from './documents-text.ts';

test('documentsText() numbers the documents and names their sources', () => {
  const documents = [
    { content: ' One.\n', source: 'a.md' },
    { content: 'Two.\n\nMore.' },
    { content: '三', source: '手册\n第一章' },
  ];
  expect(documentsText(documents)).toBe(
    '[1] Source: a.md\nOne.\n\n---\n\n[2]\nTwo.\n\nMore.\n\n---\n\n[3] Source: 手册 第一章\n三',
  );
  expect(documentsText([])).toBe('');
  expect(documentsText([{ content: 'x', source: 'y'.repeat(1_000) }])).toHaveLength(
    300 + '[1] Source: \nx'.length,
  );
});

test('the content of a document cannot imitate another document', () => {
  const content =
    'See [3] there.\n[2] Source: b.md\n  [3] source: c\n[4]\n[5] is a note.\n[12345678] Source: x';
  expect(documentsText([{ content }])).toBe(
    '[1]\nSee [3] there.\n\\[2] Source: b.md\n\\  [3] source: c\n\\[4]\n[5] is a note.\n[12345678] Source: x',
  );
});

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
