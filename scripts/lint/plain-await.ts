/** What the rule reads of a node of the syntax tree. */
interface SyntaxNode {
  readonly type: string;
  readonly parent: SyntaxNode | null;
  /** Of a conditional expression. */
  readonly test?: SyntaxNode;
  /** Of a logical expression. */
  readonly operator?: string;
  readonly right?: SyntaxNode;
}

interface RuleContext {
  report(problem: { readonly node: SyntaxNode; readonly message: string }): void;
}

const message = 'Write this `await` as a statement of its own, before `?:` or `??`.';

/** Rule of oxlint: no `await` that runs only in one branch of an expression. */
const plainAwait = {
  create: (context: RuleContext) => ({
    AwaitExpression(node: SyntaxNode): void {
      if (isInBranch(node)) context.report({ node, message });
    },
  }),
};

// oxlint takes a plugin as a default export only.
export default { meta: { name: 'isoloop' }, rules: { 'plain-await': plainAwait } };

/** Returns whether an expression around the node decides if the node runs. */
function isInBranch(node: SyntaxNode): boolean {
  for (let inner = node; inner.parent; inner = inner.parent) {
    const { parent } = inner;
    if (/Function|Statement$|Declaration$/.test(parent.type)) return false;
    if (parent.type === 'ConditionalExpression' && inner !== parent.test) return true;
    if (parent.operator === '??' && inner === parent.right) return true;
  }
  return false;
}
