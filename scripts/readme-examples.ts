import { readFileSync, writeFileSync } from 'node:fs';
import { findFiles } from './find-files.ts';
import { root } from './root.ts';

/** The pages whose code comes from tests, relative to the root. */
export const pages: readonly string[] = findFiles(['packages/*/README.md', 'docs/**/*.md']);

/** A code block in TypeScript: its marker, and the name of a file. */
const block =
  /^(?:<!-- example: (\S+) -->\n+)?```(?:tsx?|typescript)\b *(\S*).*\n([\s\S]*?)^```$/gm;

/**
 * Returns the page with the current code of its examples. A code block below `<!-- example: name
 * -->` gets the code of the region `name`. A block that names a file stays as it is: another test
 * compiles it.
 *
 * Throws if a code block has neither, or if a name has no region.
 */
export function withExamples(page: string, examples: ReadonlyMap<string, string>): string {
  return page.replaceAll(
    block,
    (match: string, name: string | undefined, file: string, code: string) => {
      if (name === undefined && file) return match;
      if (name === undefined)
        throw new Error(`A code block has no line <!-- example: name --> above it:\n${code}`);
      const example = examples.get(name);
      if (example === undefined) throw new Error(`There is no region "${name}".`);
      return `<!-- example: ${name} -->\n\n\`\`\`ts\n${example}\`\`\``;
    },
  );
}

/** Returns the names of the examples that no page shows. */
export function unusedExamples(
  texts: readonly string[],
  examples: ReadonlyMap<string, string>,
): readonly string[] {
  const shown = new Set(
    texts.flatMap((text) => [...text.matchAll(block)].map(([, name]) => name ?? '')),
  );
  return [...examples.keys()].filter((name) => !shown.has(name));
}

/** Reads the text of a page. */
export function readPage(path: string): string {
  return readFileSync(`${root}/${path}`, 'utf8');
}

/** Reads all examples: the regions of the tests in `test/examples`. */
export function readExamples(): ReadonlyMap<string, string> {
  const files = findFiles('test/examples/**/*.test.ts');
  return regionsIn(files.map((file) => readFileSync(`${root}/${file}`, 'utf8')));
}

/**
 * Finds the code between `// #region name` and `// #endregion`, without its indentation. Regions
 * with the same name in one file are one example, with a blank line between them.
 *
 * Throws if two files use the same name, or if a region does not end.
 */
export function regionsIn(sources: readonly string[]): ReadonlyMap<string, string> {
  const examples = new Map<string, string>();
  for (const source of sources) {
    for (const [name, parts] of partsOf(source)) {
      if (examples.has(name)) throw new Error(`Two files have a region "${name}".`);
      examples.set(name, parts.map(dedent).join('\n'));
    }
  }
  return examples;
}

function partsOf(source: string): ReadonlyMap<string, readonly string[]> {
  const parts = new Map<string, string[]>();
  const regions = [...source.matchAll(/^ *\/\/ #region (\S+)\n([\s\S]*?)^ *\/\/ #endregion$/gm)];
  for (const [, name = '', code = ''] of regions)
    parts.set(name, [...(parts.get(name) ?? []), code]);
  if (regions.length !== source.split('// #region ').length - 1)
    throw new Error(`A region does not end, or is inside another region:\n${source}`);
  return parts;
}

function dedent(code: string): string {
  const lines = code.split('\n');
  const indents = lines.filter((line) => line.trim()).map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent)).join('\n');
}

if (import.meta.main) {
  const examples = readExamples();
  for (const page of pages)
    writeFileSync(`${root}/${page}`, withExamples(readPage(page), examples));
}
