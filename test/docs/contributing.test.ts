import { readFileSync } from 'node:fs';
import { parseSync, Visitor, type ESTree } from 'vite';
import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

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

/** Files that the guide names and no folder has: those of examples, and what a reader adds. */
const madeUp = new RegExp(`${invented.source}|^(?:route|node-server)\\.ts$`, 'i');

/** The pages of the guide. */
const guide = ['CONTRIBUTING.md', ...findFiles(`${folder}/*.md`)];
const shipped = files.filter(
  (file) => /^packages\/[^/]+\/src\//.test(file) && !/\.test\./.test(file),
);

/** Functions of others, and those of examples. */
const foreign = [
  'clone',
  'datetime',
  'fsDriver',
  'merged',
  'pipe',
  'stringify',
  'useChat',
  'useFakeTimers',
  'useSyncExternalStore',
];

const everyPath = findFiles(
  [
    '*.{json,toml,md,ts}',
    '.*.json',
    '.github/**/*',
    '{bench,demo,docs,packages,scripts,test}/**/*.{ts,tsx,mjs,md,json,toml,txt,svg}',
  ],
  { exclude: ['**/node_modules/**', '**/dist/**'] },
).map((path) => `/${path}`);

/**
 * Returns whether a path or the end of one exists. A path without an extension is a folder, or the
 * beginning of a path.
 */
function exists(path: string): boolean {
  const end = `/${path.replace(/^\.\//, '')}`;
  return /\.\w+$/.test(path)
    ? everyPath.some((known) => known.endsWith(end))
    : everyPath.some((known) => known.includes(end));
}

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');
}

/** Returns the texts in backticks. One may go over two lines of a comment. */
function codeSpansIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) =>
    code.replaceAll(/\s+\*?\s*/g, ' '),
  );
}

function commentsOf(path: string): readonly string[] {
  return parseSync(path, read(path)).comments.map(({ value }) => value);
}

/** Returns the names of what may be called: functions, classes, methods, and values with a name. */
function functionsOf(path: string): readonly string[] {
  const found: string[] = [];
  const add = (key: ESTree.Node | null | undefined): void => {
    if (key?.type === 'Identifier' || key?.type === 'PrivateIdentifier') found.push(key.name);
  };
  new Visitor({
    FunctionDeclaration: ({ id }) => add(id),
    TSDeclareFunction: ({ id }) => add(id),
    ClassDeclaration: ({ id }) => add(id),
    VariableDeclarator: ({ id }) => add(id),
    MethodDefinition: ({ key }) => add(key),
    TSAbstractMethodDefinition: ({ key }) => add(key),
    TSMethodSignature: ({ key }) => add(key),
    TSPropertySignature: ({ key }) => add(key),
    PropertyDefinition: ({ key }) => add(key),
    Property: ({ key, method }) => method && add(key),
  }).visit(parseSync(path, read(path)).program);
  return found;
}

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

test('each file and folder that the guide names exists', () => {
  const paths = guide.flatMap((path) =>
    codeSpansIn(withoutBlocks(read(path)))
      .filter((code) => /^\.?\w[\w.-]*(?:\/[\w.-]+)+\/?$|^[\w.-]+\.(?:tsx?|json|toml)$/.test(code))
      .map((code) => ({ path, code })),
  );
  const unknown = paths.filter(
    ({ code }) => !madeUp.test(code) && !code.startsWith('dist/') && !exists(code),
  );
  expect(paths.length).toBeGreaterThan(90);
  expect(unknown).toEqual([]);
});

test('each file that a comment in the sources names exists', () => {
  const named = shipped.flatMap((path) =>
    commentsOf(path).flatMap((comment) =>
      [...comment.matchAll(/(?<![\w./-])[\w.-]+(?:\/[\w.-]+)*\.tsx?\b/g)].map(([code]) => ({
        path,
        code,
      })),
    ),
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter(({ code }) => !exists(code))).toEqual([]);
});

test('each function that the guide or a comment in the sources names exists', () => {
  const functions = new Set([...files.flatMap(functionsOf), ...foreign]);
  const texts = [
    ...guide.map((path) => ({ path, texts: [withoutBlocks(read(path))] })),
    ...shipped.map((path) => ({ path, texts: commentsOf(path) })),
  ];
  const named = texts.flatMap(({ path, texts: all }) =>
    all.flatMap(codeSpansIn).flatMap((code) =>
      [...code.matchAll(/(?<![\w$@/])([\w$]+)(?:<[^()]*>)?\(/g)].map(([, name = '']) => ({
        path,
        name,
      })),
    ),
  );
  expect(named.length).toBeGreaterThan(400);
  expect(named.filter(({ name }) => !invented.test(name) && !functions.has(name))).toEqual([]);
});

test('each function that the guide finds in a file is in this file', () => {
  const places = guide.flatMap((path) =>
    [...read(path).matchAll(/((?:`\w+\([^`]*`(?:, | and )?)+) (?:of|in) (?:\w+'s )?`([\w./-]+)`/g)]
      .filter(([, , file = '']) => file.includes('/'))
      .flatMap(([, calls = '', file = '']) =>
        [...calls.matchAll(/`(\w+)\(/g)].map(([, name = '']) => ({ path, name, file })),
      ),
  );
  const misplaced = places.filter(
    ({ name, file }) =>
      !files.some(
        (candidate) =>
          `/${candidate}`.includes(`/${file}`) &&
          new RegExp(`(?:function|const|class) ${name}\\b`).test(read(candidate)),
      ),
  );
  expect(places.length).toBeGreaterThan(10);
  expect(misplaced).toEqual([]);
});

test('the list of words has each word once', () => {
  const listed = [...words.matchAll(/^- \*\*([a-z][a-z -]*?)\*\*:/gm)].map(([, word]) => word);
  expect(listed.length).toBeGreaterThan(40);
  expect(listed.filter((word, index) => listed.indexOf(word) !== index)).toEqual([]);
});

test('each word in the list of words occurs in the source of the packages', () => {
  const listed = [...words.matchAll(/^- \*\*([a-z][a-z -]*?)\*\*:/gm)].map(([, word = '']) => word);
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
