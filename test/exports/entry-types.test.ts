import { expect, test } from 'vitest';
import type { Declaration } from '../../scripts/docs/reference/declaration-file.ts';
import { readReference, type ReferenceItem } from '../../scripts/docs/reference/reference-pages.ts';

/** Entries whose functions take types of other entries, and why. */
const otherEntries: Readonly<Record<string, string>> = {
  '@isoloop/core/host': 'hosts use types of all features, and our two hosts need no more names',
};

/** Types that functions of several entries name, with the entry that has them, and why. */
const sharedTypes: Readonly<Record<string, string>> = {
  Agent: '/agent: users pass a ReActAgent',
  ContextToken: '/tool, with contextToken(), which makes it',
  ForkOptions: '/tool, with presets, which few tools have',
  FriendlyText: '/event, with the results that it is about',
  LogRecord: '/log, with the records of a session',
  ModelMiddleware: '/model, with wrapModel(), which takes it',
  PerRequest: '/endpoint, with valueFor(), which takes it',
  RequestHeaders: '/endpoint, with requestEndpoint()',
  RetrievedDocument: '/message, with documentsText(), which takes it',
  RunInfo: '/model, with the context of a model',
  SessionView: '/log, with SessionFold, which makes it',
  SummaryStore: '/memory, with sessionSummaries(), which makes it',
  TokenProfile: '/tokens, with the profiles',
};

/** Types that only say what others are made of. No user writes their names. */
const inferredTypes: readonly string[] = [
  'CallView',
  'Failure',
  'InferInput',
  'AnyFunction',
  'InputWithout',
  'Names',
  'TypeOf',
  'OpenAiFormatterOptions',
  'Streaming',
  'ToolsOf',
  'Transport',
];

const items = readReference().items.filter(({ entry }) => /^@isoloop\/core\b/.test(entry));
const exported = new Set(items.map(({ entry, declaration }) => keyOf(entry, declaration)));

test('an entry of core exports its functions with the types of their parameters, options and results', () => {
  const functions = items.filter(({ kind, entry }) => kind === 'function' && !otherEntries[entry]);
  expect(functions.length).toBeGreaterThan(120);
  const missing = functions.flatMap(missingTypes);
  const isListed = (name: string): boolean => name in sharedTypes || inferredTypes.includes(name);
  expect(missing.filter(({ type }) => !isListed(type))).toEqual([]);
  const missingNames = missing.map(({ type }) => type);
  const listed = [...Object.keys(sharedTypes), ...inferredTypes];
  expect(listed.filter((name) => !missingNames.includes(name))).toEqual([]);
});

/**
 * Returns the types that a function or its options name, but neither its entry nor the main one
 * has.
 */
function missingTypes({ entry, name, declaration }: ReferenceItem) {
  const inSignature = typesIn(declaration);
  const options = inSignature.filter((type) => type.name.endsWith('Options'));
  const types = new Set([...inSignature, ...options.flatMap(typesIn)]);
  return [...types].flatMap((type) => {
    const isFound = [entry, '@isoloop/core'].some((place) => exported.has(keyOf(place, type)));
    return isFound ? [] : { function: `${entry} ${name}()`, type: type.name };
  });
}

/**
 * Returns the types of our own that a declaration names. The bases of an interface do not count.
 */
function typesIn({ nodes, file }: Declaration): readonly Declaration[] {
  const code = nodes
    .map((node) => (node.type === 'TSInterfaceDeclaration' ? node.body : node))
    .map(({ start, end }) => file.source.slice(start, end))
    .join(' ')
    .replaceAll(/\/\*[^]*?\*\/|'[^']*'/g, '');
  return [...new Set(code.match(/\b[A-Z]\w*/g))].flatMap((name) => file.resolve(name) ?? []);
}

function keyOf(entry: string, { name, file }: Declaration): string {
  return `${entry} ${file.path} ${name}`;
}
