import type { RuleTester } from 'oxlint/plugins-dev';

type Rule = Parameters<RuleTester['run']>[1];

/** Participles that were used as names. They say what was done to a value, not what it is. */
const participles: ReadonlySet<string> = new Set(
  'about asked begun given gone held kept known left made named said seen shown taken told wanted'.split(
    ' ',
  ),
);

/** How many lines below its declaration a variable with such a name may be used. */
const reach = 2;

/** Refuses a participle as the whole name of a variable or parameter that is used further below. */
export const nounNames: Rule = {
  meta: {
    type: 'suggestion',
    messages: {
      participle:
        '"{{name}}" is used {{lines}} lines below. Name it by what it is (CONTRIBUTING.md, "Style").',
    },
  },
  create: ({ report, sourceCode }) => ({
    Program() {
      for (const { variables } of sourceCode.scopeManager.scopes) {
        for (const { name, identifiers, references } of variables) {
          const [declared] = identifiers;
          if (!declared || !participles.has(name)) continue;
          const last = Math.max(
            0,
            ...references.map(({ identifier }) => identifier.loc.start.line),
          );
          const lines = last - declared.loc.start.line;
          if (lines > reach) {
            report({ node: declared, messageId: 'participle', data: { name, lines } });
          }
        }
      }
    },
  }),
};
