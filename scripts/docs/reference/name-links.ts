import { addressOf } from '../site-page.ts';
import { basePath } from '../site-folders.ts';
import { memberGroupsOf } from './members.ts';
import type { ReferenceItem } from './reference-pages.ts';

/** Types whose members have the names of some functions, such as the option `systemPrompt`. */
const typesWithMembers = new Set(['AgentOptions', 'Middleware', 'Run']);

/** The pages that list these members. */
const pagesOfMembers = new Set(['middleware', 'reference/middleware']);

/** Links from names in code spans to the reference. */
export class NameLinks {
  private readonly targets = new Map<string, { readonly address: string; readonly href: string }>();
  private readonly members: ReadonlySet<string>;

  constructor(items: readonly ReferenceItem[]) {
    for (const { name, path, anchor } of items.toReversed()) {
      const address = addressOf(path);
      this.targets.set(name, { address, href: `${basePath}/${address}/#${anchor}` });
    }
    const groups = items
      .filter(({ name }) => typesWithMembers.has(name))
      .flatMap(({ declaration }) => memberGroupsOf(declaration));
    this.members = new Set(groups.flatMap(({ members }) => members.map(({ name }) => name)));
  }

  /**
   * Links code spans such as `SessionMemory` or `saveState()`: each one on a page of the reference,
   * otherwise the first one with each name. In the reference, links the types in signatures, too.
   */
  addTo(markdown: string, address: string): string {
    const isReference = /^reference(?:\/|$)/.test(address);
    const seen = new Set<string>();
    return markdown
      .split(/(^ *```[\s\S]*?^ *```$|^#.*$|!?\[[^\]]*\]\([^)]*\)|<[^>\n]+>)/m)
      .map((part, index) => {
        if (index % 2 === 1) return part;
        return part.replace(
          /(^- )?`([^`\n]+)`/gm,
          (found, dash: string | undefined, code: string) => {
            const span = `\`${code}\``;
            const name = nameIn(code);
            if (name !== undefined && this.targets.has(name) && !this.isMember(code, address)) {
              if (!isReference && seen.has(name)) return found;
              seen.add(name);
              return `${dash ?? ''}[${span}](${this.targets.get(name)?.href})`;
            }
            return isReference && dash ? dash + this.linkTypes(code, span) : found;
          },
        );
      })
      .join('');
  }

  /** Whether a code span means a member, and not the function of the same name. */
  private isMember(code: string, address: string): boolean {
    const [name = ''] = code.split('(');
    if (!this.members.has(name)) return false;
    return name === code || pagesOfMembers.has(address);
  }

  /** Links the types in a signature. Returns `span` if it names none. */
  private linkTypes(code: string, span: string): string {
    let links = 0;
    const html = code
      .split(/(\b[A-Z]\w+)/)
      .map((part, index) => {
        const target = index % 2 === 1 ? this.targets.get(part) : undefined;
        if (!target) return escaped(part);
        links += 1;
        return `<a href="${target.href}">${part}</a>`;
      })
      .join('');
    return links > 0 ? `<code>${html}</code>` : span;
  }
}

/** Returns the name if a code span is one that cannot be an option or a plain word. */
function nameIn(code: string): string | undefined {
  const [, name, call] = /^([A-Za-z]\w*)(\([^)]*\))?$/.exec(code) ?? [];
  if (name === undefined) return undefined;
  const isDistinct = call !== undefined || /^[A-Z]|[a-z][A-Z]/.test(name);
  return isDistinct ? name : undefined;
}

/** Escapes text for Markdown between HTML tags. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/[\\*_[\]{}()#!|~$'"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
