import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { findFiles } from '../scripts/find-files.ts';
import { root } from '../scripts/root.ts';

const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const folder = 'docs/contributing';
const formats = read(`${folder}/change-a-stored-format.md`);
const recipes = [
  formats,
  read(`${folder}/recipes.md`),
  read(`${folder}/releases.md`),
  ...findFiles(`${folder}/add-*.md`).map(read),
].join('\n');
const words = read(`${folder}/words.md`);
const files = findFiles('{packages/*/{src,test-support},test,scripts}/**/*.{ts,tsx}');
const source = [...files, 'packages/core/package.json'].map(read).join('\n');
const names = new Set(source.match(/[\w$]+/g));

/** What the recipes invent for their examples. */
const invented = /acme|ping|dollar|token-?count|NAME|NameStore/i;

/** Returns the code in the recipes that matches, without what they invent. */
const codeOf = (pattern: RegExp): readonly string[] =>
  [...recipes.matchAll(pattern)].flatMap(([, code = '']) => (invented.test(code) ? [] : code));

test('CONTRIBUTING.md fits one screen', () => {
  expect(read('CONTRIBUTING.md').split('\n').length).toBeLessThanOrEqual(60);
});

test('each function and type in the recipes for contributors exists', () => {
  const found = codeOf(/`(\w*[a-z][A-Z]\w*)(?:\([^`]*\))?`/g);
  expect(found.length).toBeGreaterThan(60);
  expect(found.filter((name) => !names.has(name))).toEqual([]);
});

test('each file in the recipes for contributors exists', () => {
  const found = codeOf(/`([\w./-]+\.tsx?)`/g);
  const known = new Set(files.map((file) => basename(file)));
  expect(found.length).toBeGreaterThan(30);
  expect(found.filter((file) => !known.has(basename(file)))).toEqual([]);
});

test('the list of words has each word once', () => {
  const listed = [...words.matchAll(/^- \*\*([a-z][a-z -]*?)\*\*:/gm)].map(([, word]) => word);
  expect(listed.length).toBeGreaterThan(40);
  expect(listed.filter((word, index) => listed.indexOf(word) !== index)).toEqual([]);
});

test('each word in the list of words occurs in the source of the packages', () => {
  const listed = [...words.matchAll(/^- \*\*([a-z][a-z -]*?)\*\*:/gm)].map(([, word = '']) => word);
  const shipped = files.filter((file) => /\/src\//.test(file) && !file.includes('.test.'));
  const text = shipped.map(read).join('\n');
  const unused = listed.filter(
    (word) => !new RegExp(word.replaceAll(/[ -]/g, '[ -]?'), 'i').test(text),
  );
  expect(unused).toEqual([]);
});

test('each path in a proof of a recipe matches a file of tests', () => {
  const steps = /^(node|workerd|browser|types|packed|build|publint|attw)$/;
  const tests = findFiles('{packages/*/src,test}/**/*.test.{ts,tsx}');
  const proofs = [...recipes.matchAll(/^Proof.*/gm)].join('\n');
  const commands = [...proofs.matchAll(/npm test -- ([^`&]+)/g)].map(([, paths = '']) => paths);
  const paths = commands
    .flatMap((text) => text.trim().split(' '))
    .filter((path) => !steps.test(path));
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !tests.some((file) => file.includes(path)))).toEqual([]);
});

test('the recipe for stored formats names each version of a format', () => {
  const versions = files.flatMap((file) => {
    if (!/\/src\//.test(file) || file.includes('.test.')) return [];
    const text = read(file);
    const found = /^(?:export )?const (\w*[vV]ersion) = \d+;/m.exec(text);
    return found ? [`\`${found[1]}\` in ${file}`] : [];
  });
  expect(versions.length).toBeGreaterThan(6);
  const unnamed = versions.filter((version) => {
    const [name = '', file = ''] = version.split(' in ');
    return !formats.includes(name) || !formats.includes(file.split('/src/')[1]!);
  });
  expect(unnamed).toEqual([]);
});
