import type { RuleTester } from 'oxlint/plugins-dev';

type Rule = Parameters<RuleTester['run']>[1];

/** Participles that were used as names. They say what was done to a value, not what it is. */
const participles: ReadonlySet<string> = new Set(
  'about asked begun given gone held kept known left made named said seen shown taken told wanted'.split(
    ' ',
  ),
);

/** Adverbs and prepositions. They say where a value is, not what it is. */
const prepositions: ReadonlySet<string> = new Set('after again around before behind'.split(' '));

type Identifier = Readonly<{ parent?: { readonly type: string; readonly shorthand?: boolean } }>;

/** Returns whether a pattern takes the name from a field, as in `const { before } = event`. */
function isField({ parent }: Identifier): boolean {
  return parent?.type === 'AssignmentPattern' || parent?.shorthand === true;
}

/** Refuses a participle as the whole name of a variable, a parameter or a function. */
export const nounNames: Rule = {
  meta: {
    type: 'suggestion',
    messages: {
      participle:
        '"{{name}}" does not say what it holds. Name it by what it is (CONTRIBUTING.md, "Style").',
    },
  },
  create: ({ report, sourceCode }) => ({
    Program() {
      for (const { variables } of sourceCode.scopeManager.scopes) {
        for (const { name, identifiers } of variables) {
          const [node] = identifiers;
          const isRefused =
            participles.has(name) || (prepositions.has(name) && node && !isField(node));
          if (node && isRefused) {
            report({ node, messageId: 'participle', data: { name } });
          }
        }
      }
    },
  }),
};
