import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { root } from './root.ts';

/** Path of core's README. */
export const examplesReadme: string = `${root}/packages/core/README.md`;

interface Page {
  /** Path relative to the root. */
  readonly path: string;
  /** Pattern of the tests that have the page's code. */
  readonly tests: string;
}

/** The pages whose code comes from tests. */
export const pages: readonly Page[] = [
  { path: 'packages/core/README.md', tests: 'test/examples/*.test.ts' },
  ...[
    'approvals',
    'coming-from-ai-sdk',
    'concepts',
    'memory-and-resume',
    'production',
    'troubleshooting',
  ].map(pageOfDocs),
  { path: 'docs/local-models.md', tests: 'test/examples/local-models-page/*.test.ts' },
  { path: 'docs/middleware.md', tests: 'test/examples/middleware-page/*.test.ts' },
];

/** Returns a page in `docs` whose tests are `test/examples/docs-pages/NAME*.test.ts`. */
function pageOfDocs(name: string): Page {
  return { path: `docs/${name}.md`, tests: `test/examples/docs-pages/${name}*.test.ts` };
}

const block = /^(?:<!-- example: (\S+) -->\n+)?```(?:ts|typescript|js)\b.*\n([\s\S]*?)^```$/gm;

/**
 * Returns the page with the current code of its examples. A code block below `<!-- example: name
 * -->` gets the code of the region `name`.
 *
 * Throws if a code block has no such line, if a name has no region, or if no block shows a region.
 */
export function withExamples(page: string, examples: ReadonlyMap<string, string>): string {
  const shown = new Set<string>();
  const written = page.replaceAll(block, (_match, name: string | undefined, code: string) => {
    if (name === undefined)
      throw new Error(`A code block has no line <!-- example: name --> above it:\n${code}`);
    const example = examples.get(name);
    if (example === undefined) throw new Error(`There is no region "${name}".`);
    shown.add(name);
    return `<!-- example: ${name} -->\n\n\`\`\`ts\n${example}\`\`\``;
  });
  const unused = [...examples.keys()].filter((name) => !shown.has(name));
  if (unused.length) throw new Error(`No block shows the region ${unused.join(', ')}.`);
  return written;
}

/** Reads the text of a page. */
export function readPage({ path }: Page): string {
  return readFileSync(`${root}/${path}`, 'utf8');
}

/** Reads the examples of a page: the regions of its tests. */
export function readExamples({ tests }: Page): ReadonlyMap<string, string> {
  const files = globSync(tests, { cwd: root }).toSorted();
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
  for (const page of pages)
    writeFileSync(`${root}/${page.path}`, withExamples(readPage(page), readExamples(page)));
}
