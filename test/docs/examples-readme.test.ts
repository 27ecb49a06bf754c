import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readManifest } from '../../scripts/packages.ts';
import {
  pages,
  readExamples,
  readPage,
  regionsIn,
  unusedExamples,
  withExamples,
} from '../../scripts/readme-examples.ts';
import { root } from '../../scripts/root.ts';

const readme = readFileSync(`${root}/packages/core/README.md`, 'utf8');

test.each(pages)(
  '%s contains the current code of its tests (npm run readme updates it)',
  (page) => {
    const text = readPage(page);
    expect(withExamples(text, readExamples())).toBe(text);
  },
);

test('a page shows each example', () => {
  expect(unusedExamples(pages.map(readPage), readExamples())).toEqual([]);
});

test('the README of core names each entry', () => {
  const entries = Object.keys(readManifest('core').exports).filter(
    (entry) => entry !== './package.json',
  );
  const named = [...readme.matchAll(/^\| `(\.|\/[\w-]+)` +\|/gm)].map(([, entry]) =>
    entry === '.' ? '.' : `.${entry}`,
  );
  expect(named.toSorted()).toEqual(entries.toSorted());
});

test('the README of core shows two examples', () => {
  expect(readme.match(/^<!-- example: /gm)).toHaveLength(2);
});

const examples = new Map([['a', 'one();\n']]);
const fence = (code: string, marker = '<!-- example: a -->\n\n'): string =>
  `# Title\n\n${marker}\`\`\`ts\n${code}\`\`\`\n`;

test('withExamples() replaces code that differs from its example', () => {
  expect(withExamples(fence('one();\n'), examples)).toBe(fence('one();\n'));
  expect(withExamples(fence('two();\n'), examples)).toBe(fence('one();\n'));
});

test('withExamples() throws for a code block without an example and for an unknown name', () => {
  expect(() => withExamples(fence('one();\n', ''), examples)).toThrow(
    'A code block has no line <!-- example: name --> above it',
  );
  expect(() => withExamples(fence('one();\n'), new Map())).toThrow('There is no region "a".');
});

test('withExamples() leaves a block that names a file as it is', () => {
  const page = '```tsx page.tsx\n<Chat />;\n```\n';
  expect(withExamples(page, examples)).toBe(page);
});

test('unusedExamples() returns the examples that no page shows', () => {
  expect(unusedExamples(['# Title\n', fence('one();\n')], examples)).toEqual([]);
  expect(unusedExamples(['# Title\n'], examples)).toEqual(['a']);
});

test('regionsIn() joins the parts of a region without their indentation', () => {
  const source = [
    '// #region a',
    "import x from 'x';",
    '// #endregion',
    '  // #region a',
    '  if (x) {',
    '    y();',
    '  }',
    '',
    '  z();',
    '  // #endregion',
    '',
  ].join('\n');
  expect(regionsIn([source])).toEqual(
    new Map([['a', "import x from 'x';\n\nif (x) {\n  y();\n}\n\nz();\n"]]),
  );
  expect(() => regionsIn([source, source])).toThrow('Two files have a region "a".');
  expect(() => regionsIn(['// #region a\nx();\n'])).toThrow('A region does not end');
});
