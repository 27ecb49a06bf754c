import type { ESTree } from 'vite';

/** Returns the names that a statement uses or declares. Names of properties do not count. */
export function namesUsedIn(node: ESTree.Node): ReadonlySet<string> {
  const names = new Set<string>();
  collect(node, names);
  return names;
}

/** Returns the names that a statement declares. */
export function namesDeclaredIn(node: ESTree.Node): ReadonlySet<string> {
  const names = new Set<string>();
  if (node.type === 'ExportNamedDeclaration' && node.declaration)
    return namesDeclaredIn(node.declaration);
  if (node.type === 'VariableDeclaration')
    for (const { id } of node.declarations) collect(id, names);
  else if ('id' in node && node.id?.type === 'Identifier') names.add(node.id.name);
  return names;
}

function collect(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collect(each, names);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const node = value as Readonly<Record<string, unknown>>;
  if (node['type'] === 'Identifier') names.add(String(node['name']));
  for (const [key, child] of Object.entries(node)) {
    const isName = (key === 'property' || key === 'key') && node['computed'] === false;
    if (!isName) collect(child, names);
  }
}
