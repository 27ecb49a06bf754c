import { expect, test } from 'vitest';
import { markdownProse } from '../../scripts/prose/markdown-prose.ts';
import { checkProse, maxWords } from '../../scripts/prose/rules.ts';
import { sourceProse } from '../../scripts/prose/source-prose.ts';
import { misspellings } from '../../scripts/prose/spelling.ts';

const violationsIn = (source: string, path = 'a.ts'): readonly string[] =>
  checkProse([sourceProse(path, source)]).violations;

const violationsInMarkdown = (source: string): readonly string[] =>
  checkProse([markdownProse('a.md', source)]).violations;

const long = Array.from({ length: maxWords + 1 }, () => 'be').join(' ');

test('checkProse() reports a sentence over the limit with its line', () => {
  expect(violationsIn(`const a = 1;\n/** Short. ${long}. */\nconst b = 2;`)).toEqual([
    `a.ts:2: ${maxWords + 1} words in one sentence, ${maxWords} at most.`,
  ]);
});

test('sourceProse() joins the lines of a block comment and adjacent line comments', () => {
  const half = Array.from({ length: 13 }, () => 'word').join(' ');
  expect(violationsIn(`/**\n * ${half}\n * ${half}.\n */\nconst a = 1;`)).toHaveLength(1);
  expect(violationsIn(`// ${half}\n// ${half}.\nconst a = 1;`)).toHaveLength(1);
  expect(violationsIn(`// ${half}\nconst a = 1;\n// ${half}.\n`)).toEqual([]);
});

test('sourceProse() treats each item of a list as a sentence', () => {
  const item = Array.from({ length: 13 }, () => 'word').join(' ');
  expect(
    violationsIn(`/**\n * - ${item}\n * - ${item}\n *\n * ${item}\n */\nconst a = 1;`),
  ).toEqual([]);
});

test('sourceProse() counts a code span as one word and ignores the full stops in it', () => {
  const span = '`a very long span. With many words in it, and none of them counts here`';
  expect(
    violationsIn(`/** Takes ${span}\n * and ${span}\n * and ${span}. */\nconst a = 1;`),
  ).toEqual([]);
});

test.for([
  ['The run is gone on with.', 'gone on with'],
  ['Its color and its behaviour.', 'behaviour'],
  ['A cancelled run.', 'cancelled'],
])('checkProse() reports the avoided words in: %s', ([sentence, words]) => {
  expect(violationsIn(`/** ${sentence} */\nconst a = 1;`)).toEqual([
    expect.stringContaining(`a.ts:1: "${words}"`),
  ]);
});

test('checkProse() wants one form of a default in comments', () => {
  const violation = 'a.ts:1: "Default 5": write "Default: …".';
  expect(violationsIn('/** Number of attempts. Default 5. */\nrun();')).toEqual([violation]);
  expect(violationsIn('/** Clock. Default `Date.now`. */\nrun();')).toHaveLength(1);
  expect(violationsIn('/**\n * Number of attempts.\n * @default 5\n */\nrun();')).toHaveLength(1);
  expect(violationsIn('/** Number of attempts. Default: 5. Default of `a`: 6. */\nrun();')).toEqual(
    [],
  );
});

test('checkProse() reports a line of a comment that is too wide, but not a long address', () => {
  const words = Array.from({ length: 10 }, () => 'a long word').join(' ');
  expect(violationsIn(`run();\n// Some words.\n// ${words}.`)).toContain(
    'a.ts:3: A comment has at most 100 columns in a line.',
  );
  expect(violationsIn(`/**\n * A page:\n * https://example.com/${'a'.repeat(100)}\n */`)).toEqual(
    [],
  );
  expect(violationsIn(`run('${'a'.repeat(120)}');`)).toEqual([]);
});

test('sourceProse() ignores code spans and examples', () => {
  expect(violationsIn(`/**\n * Runs.\n *\n * @example\n * run('${long}')\n */\nrun();`)).toEqual(
    [],
  );
  expect(violationsIn(`/** Emits \`cancelled\`. */\nrun();`)).toEqual([]);
});

test('sourceProse() reads messages in strings and templates, but not single words', () => {
  expect(violationsIn(`fail('The run was cancelled by it.');`)).toHaveLength(1);
  expect(violationsIn(`\nfail(\`The run \${id} was cancelled.\`);`)).toEqual([
    'a.ts:2: "cancelled": American spelling.',
  ]);
  expect(violationsIn(`const state = 'cancelled';`)).toEqual([]);
});

test('sourceProse() reads the titles in a test file, but not its other strings', () => {
  const source = `
    test('a run is cancelled', () => expect(say()).toBe('The run was cancelled by it.'));
    test.for([1])('a run is cancelled %i times', () => {});
    describe(\`a cancelled \${run}\`, () => {});`;
  expect(violationsIn(source, 'a.test.ts')).toEqual([
    'a.test.ts:2: "cancelled": American spelling.',
    'a.test.ts:3: "cancelled": American spelling.',
    'a.test.ts:4: "cancelled": American spelling.',
  ]);
});

test('markdownProse() reads paragraphs, headings, lists, quotes and table cells, with their lines', () => {
  const source = `# Cancelled

Text with a [cancelled](a.md) run.

- one
- a **cancelled** run
  - its cancelled step

> Cancelled.

| a | b |
| - | - |
| 1 | cancelled |`;
  expect(violationsInMarkdown(source)).toEqual(
    [1, 3, 6, 7, 9, 13].map((line) => expect.stringContaining(`a.md:${line}: "`)),
  );
});

test('markdownProse() ignores code, HTML and addresses', () => {
  const source = `\`cancelled\` and [this](cancelled.md)

\`\`\`ts
cancelled();
\`\`\`

<!-- cancelled -->
![](cancelled.png)`;
  expect(violationsInMarkdown(source)).toEqual([]);
});

test('checkProse() counts sentences and words', () => {
  const source = '/** Two words. And three words. */\nconst a = 1;';
  expect(checkProse([sourceProse('a.ts', source)])).toEqual({
    violations: [],
    sentences: 2,
    words: 5,
  });
});

test('misspellings() reports words that neither the dictionary nor the list of own words has', () => {
  const source =
    'A mispelled word, a middleware, `asdfgh`, OpenAI’s `KV`, 记忆 and the agent’s colour.\n';
  expect(misspellings([markdownProse('a.md', source)])).toEqual([
    'a.md:1: "mispelled": not in the dictionary; see scripts/prose/words.txt.',
    'a.md:1: "colour": not in the dictionary; see scripts/prose/words.txt.',
  ]);
});
