import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { brokenLinksOf } from '../../scripts/markdown-links.ts';
import { root } from '../../scripts/root.ts';

interface Question {
  readonly question: string;
  /** The page with the answer, and its heading. */
  readonly page: string;
  /** What the section must say. */
  readonly says: readonly string[];
  /** Whether a first-time user finds the whole answer there. A person has judged this. */
  readonly answer: 'full' | 'partly' | 'no';
}

const questions = JSON.parse(
  readFileSync(`${root}/test/fixtures/questions.json`, 'utf8'),
) as readonly Question[];

test.each(questions)('$page answers: $question', ({ page, says }) => {
  const link = `[answer](${page})`;
  expect(brokenLinksOf('q.md', (path) => (path === 'q.md' ? link : read(path)))).toEqual([]);
  const text = read(page.split('#')[0]!);
  for (const words of says) expect(text).toContain(words);
});

test('the pages answer at least 36 of every 40 questions of a first-time user in full', () => {
  const full = questions.filter(({ answer }) => answer === 'full').length;
  expect(questions.length).toBeGreaterThanOrEqual(40);
  expect(full / questions.length).toBeGreaterThanOrEqual(36 / 40);
});

function read(path: string): string {
  return readFileSync(`${root}/${path}`, 'utf8');
}
