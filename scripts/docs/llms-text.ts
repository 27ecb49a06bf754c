import { descriptionOf, markdownCopy } from './page-text.ts';
import { basePath } from './site-folders.ts';
import { isChinese, type SitePage } from './site-page.ts';

/** Returns `llms.txt`: what the library is, and each page with its address as Markdown. */
export function llmsText(pages: readonly SitePage[]): string {
  const [guides, packages, reference, chinese] = groupsOf(pages);
  const lists = [
    listOf('Docs', guides),
    listOf('Packages and project', packages),
    listOf('API reference', reference),
    listOf('In Chinese', chinese),
  ].join('');
  return `# Isoloop

> A TypeScript library for ReAct agents (reason, call tools, observe, repeat). The same loop runs in a browser tab's Web Worker, in Cloudflare Workers and in Node.

Each page is also Markdown: add \`.md\` to its address. [All pages in one file](${basePath}/llms-full.txt), [the API for assistants](${basePath}/packages/core/skill.md).

${lists.trimEnd()}
`;
}

/** Returns `llms-full.txt`: the Markdown of all pages in English. The changelog is not in it. */
export function llmsFullText(pages: readonly SitePage[]): string {
  const [guides = [], packages = [], reference = []] = groupsOf(pages);
  return [...guides, ...packages, ...reference]
    .filter(({ address }) => address !== 'changelog')
    .map((page) => `<!-- ${basePath}/${page.address || 'index'}.md -->\n\n${markdownCopy(page)}`)
    .join('\n\n');
}

function groupsOf(pages: readonly SitePage[]): readonly (readonly SitePage[])[] {
  const kindOf = ({ path, address }: SitePage): number => {
    if (isChinese(address)) return 3;
    if (address.startsWith('reference/')) return 2;
    return path.startsWith('docs/') ? 0 : 1;
  };
  return [0, 1, 2, 3].map((kind) => pages.filter((page) => kindOf(page) === kind));
}

function listOf(title: string, pages: readonly SitePage[] = []): string {
  if (pages.length === 0) return '';
  const lines = pages.map(
    (page) =>
      `- [${page.title}](${basePath}/${page.address || 'index'}.md): ${descriptionOf(page)}`,
  );
  return `## ${title}\n\n${lines.join('\n')}\n\n`;
}
