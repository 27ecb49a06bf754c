import { expect, test } from 'vitest';
import { checkProse, maxWords } from '../scripts/prose.ts';

const violationsIn = (source: string): readonly string[] =>
  checkProse([{ path: 'a.ts', source }]).violations;

const long = Array.from({ length: maxWords + 1 }, () => 'word').join(' ');

test('a sentence over the limit is reported with its line', () => {
  expect(violationsIn(`const a = 1;\n/** Short. ${long}. */\nconst b = 2;`)).toEqual([
    `a.ts:2: ${maxWords + 1} words in one sentence, ${maxWords} at most.`,
  ]);
});

test('a sentence goes on over the lines of a block and over adjacent line comments', () => {
  const half = Array.from({ length: 13 }, () => 'word').join(' ');
  expect(violationsIn(`/**\n * ${half}\n * ${half}.\n */\nconst a = 1;`)).toHaveLength(1);
  expect(violationsIn(`// ${half}\n// ${half}.\nconst a = 1;`)).toHaveLength(1);
  expect(violationsIn(`// ${half}\nconst a = 1;\n// ${half}.\n`)).toEqual([]);
});

test('items of a list are sentences of their own', () => {
  const item = Array.from({ length: 13 }, () => 'word').join(' ');
  expect(
    violationsIn(`/**\n * - ${item}\n * - ${item}\n *\n * ${item}\n */\nconst a = 1;`),
  ).toEqual([]);
});

test('a code span is one word, and its full stop ends no sentence', () => {
  const span = '`a very long span. With many words in it, and none of them counts here`';
  expect(violationsIn(`/** Takes ${span} and ${span} and ${span}. */\nconst a = 1;`)).toEqual([]);
});

test.for([
  ['The run is gone on with.', 'gone on with'],
  ['Its color and its behaviour.', 'behaviour'],
  ['A cancelled run.', 'cancelled'],
])('%s is reported', ([sentence, words]) => {
  expect(violationsIn(`/** ${sentence} */\nconst a = 1;`)).toEqual([
    expect.stringContaining(`a.ts:1: "${words}"`),
  ]);
});

test('strings, code spans and examples are not prose', () => {
  expect(violationsIn(`/**\n * Runs.\n *\n * @example\n * run('${long}')\n */\nrun();`)).toEqual(
    [],
  );
  expect(violationsIn(`/** Emits \`cancelled\`. */\nconst a = 'a cancelled run';`)).toEqual([]);
});

test('counts sentences and words', () => {
  const source = '/** Two words. And three words. */\nconst a = 1;';
  expect(checkProse([{ path: 'a.ts', source }])).toEqual({
    violations: [],
    sentences: 2,
    words: 5,
  });
});
