import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { slugOf } from './packed-files.ts';
import { root } from './root.ts';

/** Returns the relative links of a Markdown file whose file or heading does not exist. */
export function brokenLinksOf(
  path: string,
  read: (path: string) => string | undefined = readIfExists,
): readonly string[] {
  const prose = (read(path) ?? '').replaceAll(/^```[\s\S]*?^```$/gm, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^[a-z]+:/.test(link)).filter((link) => !exists(link));

  function exists(link: string): boolean {
    const [file = '', heading] = link.split('#');
    const target = file ? join(dirname(path), file) : path;
    const text = read(target);
    if (text === undefined) return false;
    return heading === undefined || headingsOf(text).has(heading);
  }
}

function headingsOf(markdown: string): ReadonlySet<string> {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
  return new Set([...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slugOf(heading)));
}

function readIfExists(path: string): string | undefined {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
