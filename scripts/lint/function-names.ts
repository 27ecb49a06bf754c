import type { RuleTester } from 'oxlint/plugins-dev';

type Rule = Parameters<RuleTester['run']>[1];

/** A participle says neither what a function does nor what it returns. */
const participle = /^[a-z]{2,}ed$/;

/** Irregular participles, adverbs and prepositions that were used as names of functions. */
const otherWords: ReadonlySet<string> = new Set(
  'about again answering existing hidden later shown within'.split(' '),
);

/** Verbs and public names that look like participles. `settled()` returns a promise. */
const allowedNames: ReadonlySet<string> = new Set(
  'embed misconfigured need seed settled structured untimed'.split(' '),
);

type NameNode = Readonly<{ type: string; name?: unknown }>;

/**
 * Refuses a participle or an adverb as the whole name of a function, or of a method that is no
 * getter. A handler in an object literal may have the name of its event.
 */
export const functionNames: Rule = {
  meta: {
    type: 'suggestion',
    messages: {
      name: '"{{name}}" says neither what the function does nor what it returns. Use a verb or a noun (CONTRIBUTING.md, "Style").',
    },
  },
  create({ report }) {
    const check = (node: (NameNode & Parameters<typeof report>[0]['node']) | null): void => {
      const name = node?.name;
      if (!node || typeof name !== 'string' || allowedNames.has(name)) return;
      if (participle.test(name) || otherWords.has(name)) {
        report({ node, messageId: 'name', data: { name } });
      }
    };
    return {
      FunctionDeclaration: ({ id }) => check(id),
      MethodDefinition({ key, kind }) {
        if (kind === 'method') check(key);
      },
      TSMethodSignature({ key, kind }) {
        if (kind === 'method') check(key);
      },
      VariableDeclarator({ id, init }) {
        if (init?.type === 'ArrowFunctionExpression') check(id);
      },
    };
  },
};
