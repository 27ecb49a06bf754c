import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import plugin from '../../scripts/lint/plain-await.ts';

type SyntaxNode = Parameters<ReturnType<Rule['create']>['AwaitExpression']>[0];
type Rule = (typeof plugin.rules)['plain-await'];

/** Returns how many `await` the rule reports in a function with these statements. */
function reportsIn(statements: string): number {
  let count = 0;
  const report = (): void => {
    count += 1;
  };
  const { AwaitExpression: visit } = plugin.rules['plain-await'].create({ report });
  const walk = (node: object, parent: object | null): void => {
    if ('type' in node) Object.assign(node, { parent });
    if ('type' in node && node.type === 'AwaitExpression') visit(node as SyntaxNode);
    const outer = 'type' in node ? node : parent;
    for (const [key, value] of Object.entries(node))
      if (key !== 'parent' && typeof value === 'object' && value) walk(value as object, outer);
  };
  walk(parseSync('a.ts', `async function run() { ${statements} }`).program, null);
  return count;
}

test.each([
  ['in a branch of `?:`', 'const a = b ? await c() : d;', 1],
  ['deep in a branch of `?:`', 'const a = b ? d : f({ e: (await c()).g });', 1],
  ['right of `??`', 'return a ?? (await b());', 1],
  ['in a `throw` or an argument', 'throw f(a ? await b() : await c());', 2],
  ['in the condition of `?:`', 'const a = (await b()) ? c : d;', 0],
  ['left of `??`', 'const a = (await b()) ?? c;', 0],
  ['around `?:`', 'const a = await (b ? c() : d());', 0],
  ['in a function of a branch', 'const a = b ? async () => { await c(); } : d;', 0],
  ['as a statement', 'if (a) await b(); else c = await d();', 0],
])('an `await` %s', (_where, statements, count) => {
  expect(reportsIn(statements)).toBe(count);
});
