import type { Declaration } from './declaration-file.ts';

/**
 * Returns the types that a declaration names but no entry exports, each as a code block. A reader
 * could not look them up elsewhere.
 */
export function innerTypesOf(
  { name, nodes, file }: Declaration,
  isExported: (name: string) => boolean,
): readonly string[] {
  const text = nodes.map(({ start, end }) => file.source.slice(start, end)).join('\n');
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '');
  const names = new Set(code.match(/\b[A-Z]\w*[a-z]\w*\b/g));
  return [...names].flatMap((inner) => {
    if (inner === name || isExported(inner)) return [];
    const found = file.resolve(inner);
    const [node] = found?.nodes ?? [];
    if (!found || !node || !isShortType(node.type, node.end - node.start)) return [];
    const source = found.file.source
      .slice(node.start, node.end)
      .replace(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2));
    return [`\`${inner}\` is not exported:\n\n\`\`\`ts\n${source}\n\`\`\``];
  });
}

function isShortType(type: string, length: number): boolean {
  return /^TS(?:Interface|TypeAlias)Declaration$/.test(type) && length < 1500;
}
