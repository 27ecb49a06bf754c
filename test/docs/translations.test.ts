import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import {
  outdated,
  readTranslations,
  checksumOf,
  translationOf,
} from '../../scripts/translations.ts';

test('each Chinese page names an English page, and the Chinese index lists it', () => {
  const translations = readTranslations();
  expect(translations.map(({ path }) => path)).toEqual([
    'docs/zh/approvals.md',
    'docs/zh/coming-from.md',
    'docs/zh/concepts.md',
    'docs/zh/memory-and-resume.md',
    'docs/zh/start.md',
  ]);
  const index = readFileSync(`${root}/docs/zh/README.md`, 'utf8');
  for (const { path, english } of translations) {
    expect(existsSync(`${root}/${english}`), english).toBe(true);
    expect(index).toContain(`](${path.replace('docs/zh/', '')})`);
  }
});

test('a page whose English prose changed later is outdated, and one whose code changed is not', () => {
  const english = '# Start\n\nOne.\n\n```ts\na();\n```\n';
  const page = `# 开始\n\n<!-- english: docs/start.md ${checksumOf(english)} -->\n`;
  const translation = translationOf('docs/zh/start.md', page);

  expect(outdated([translation], () => english)).toEqual([]);
  expect(outdated([translation], () => english.replace('a()', 'b()'))).toEqual([]);
  expect(outdated([translation], () => english.replace('One.', 'One.\n'))).toEqual([]);
  expect(outdated([translation], () => english.replace('One', 'Two'))).toEqual([translation]);
});

test('a Chinese page without its English side is refused', () => {
  expect(() => translationOf('docs/zh/a.md', '# A\n')).toThrow('docs/zh/a.md has no line');
});
