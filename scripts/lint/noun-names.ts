import type { RuleTester } from 'oxlint/plugins-dev';

type Rule = Parameters<RuleTester['run']>[1];

/** Participles that were used as names. They say what was done to a value, not what it is. */
const participles: ReadonlySet<string> = new Set(
  'about asked begun given gone held kept known left made named said seen shown taken told wanted'.split(
    ' ',
  ),
);

/** Adverbs and prepositions. They say where a value is, not what it is. */
const prepositions: ReadonlySet<string> = new Set(
  'above after again around before behind inside near'.split(' '),
);

/** Adjectives. They say which of several values a name holds, not what it is. */
const adjectives: ReadonlySet<string> = new Set(
  'all best busy first late likely open own'.split(' '),
);

interface Node {
  readonly type: string;
}

type Identifier = Readonly<{
  parent?: Node & Readonly<{ shorthand?: boolean; init?: Node | null }>;
  typeAnnotation?: Readonly<{ typeAnnotation?: Node }> | null;
}>;

/** Returns whether a pattern takes the name from a field, as in `const { before } = event`. */
function isField({ parent }: Identifier): boolean {
  return parent?.type === 'AssignmentPattern' || parent?.shorthand === true;
}

/** Returns whether a name is that of an item, as in `const [first, ...others] = names`. */
function isItem({ parent }: Identifier): boolean {
  return parent?.type === 'ArrayPattern';
}

/** Returns whether a name is that of a function, as in `const open = () => {}`. */
function isFunction({ parent, typeAnnotation }: Identifier): boolean {
  const isArrow = parent?.init?.type === 'ArrowFunctionExpression';
  return isArrow || typeAnnotation?.typeAnnotation?.type === 'TSFunctionType';
}

function isRefused(name: string, node: Identifier, scope: ReadonlyMap<string, unknown>): boolean {
  if (participles.has(name)) return true;
  if (prepositions.has(name)) return !isField(node);
  if (name === 'first' && (scope.has('second') || isItem(node))) return false;
  return adjectives.has(name) && !isField(node) && !isFunction(node);
}

/**
 * Refuses a participle, a preposition or an adjective as the whole name of a variable, a parameter
 * or a function. `first` may be beside `second` and in an array pattern. A function may be `open`.
 */
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
      for (const { variables, set } of sourceCode.scopeManager.scopes) {
        for (const { name, identifiers } of variables) {
          const [node] = identifiers;
          if (node && isRefused(name, node, set)) {
            report({ node, messageId: 'participle', data: { name } });
          }
        }
      }
    },
  }),
};
