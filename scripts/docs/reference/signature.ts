import type { Declaration } from './declaration-file.ts';

/** Returns the kind of a declaration in a reader's word. */
export function kindOf({ nodes: [node] }: Declaration): 'function' | 'class' | 'value' | 'type' {
  if (node?.type === 'ClassDeclaration') return 'class';
  if (node?.type === 'VariableDeclaration') return 'value';
  if (node?.type === 'TSDeclareFunction' || node?.type === 'FunctionDeclaration') return 'function';
  return 'type';
}

/**
 * Returns the declaration as TypeScript. Interfaces and classes have only their head, because their
 * members follow in a list.
 */
export function signatureOf({ nodes, file }: Declaration): string {
  return nodes
    .map((node) => {
      const text = file.source.slice(node.start, node.end);
      const isList =
        node.type === 'TSInterfaceDeclaration' ||
        node.type === 'ClassDeclaration' ||
        (node.type === 'TSTypeAliasDeclaration' && node.typeAnnotation.type === 'TSTypeLiteral');
      const head = 'body' in node && node.body ? text.slice(0, node.body.start - node.start) : text;
      const code = isList && head !== text ? `${head.trim()} { … }` : text;
      return readable(isList && head === text ? `${text.split('{')[0]?.trim()} { … }` : code);
    })
    .join('\n');
}

/** Returns code on one line, without comments. */
export function oneLine(code: string): string {
  return code
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/; \}/g, ' }')
    .trim();
}

function readable(code: string): string {
  return wrapped(
    code
      .replace(/^declare /, '')
      .replace(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2)),
  );
}

/** Breaks a long first line after each parameter. */
function wrapped(code: string): string {
  if (code.includes('\n') || code.length <= 90) return code;
  const open = code.indexOf('(');
  if (open < 0) return code;
  const parts: string[] = [];
  let depth = 0;
  let from = open + 1;
  for (let at = open; at < code.length; at++) {
    const sign = code[at]!;
    if ('([{<'.includes(sign)) depth += 1;
    if (')]}'.includes(sign) || (sign === '>' && code[at - 1] !== '=')) depth -= 1;
    const ends = depth === 0;
    if ((sign === ',' && depth === 1) || ends) {
      parts.push(code.slice(from, at).trim());
      from = at + 1;
    }
    if (ends) break;
  }
  const list = parts.filter(Boolean).map((part) => `  ${part},\n`);
  return `${code.slice(0, open + 1)}\n${list.join('')})${code.slice(from)}`;
}
