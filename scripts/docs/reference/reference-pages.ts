import { packageFolders, readManifest } from '../../packages.ts';
import { root } from '../../root.ts';
import { slugOf } from '../../packed-files.ts';
import { sitePage, type SitePage } from '../site-page.ts';
import { DeclarationFile, type Declaration } from './declaration-file.ts';
import { readDocComment } from './doc-comment.ts';
import { innerTypesOf } from './inner-types.ts';
import { memberGroupsOf } from './members.ts';
import { kindOf, signatureOf } from './signature.ts';

/** A name that an entry exports. */
export interface ReferenceItem {
  readonly name: string;
  /** `@isoloop/core/tool`. */
  readonly entry: string;
  /** Path of its page. */
  readonly path: string;
  /** Anchor of its heading, without `#`. */
  readonly anchor: string;
  readonly declaration: Declaration;
  readonly kind: ReturnType<typeof kindOf>;
}

/** The reference: its pages, and each exported name. */
export interface Reference {
  readonly pages: readonly SitePage[];
  readonly items: readonly ReferenceItem[];
}

/**
 * Writes the reference from the declarations that `tsc -b` has built: a page for each entry of each
 * package, and an index. Throws if the declaration of an export is missing.
 */
export function readReference(): Reference {
  const entries = packageFolders.flatMap(entriesOf);
  const items = entries.flatMap(itemsOf);
  const exported = new Set(items.map(({ name }) => name));
  const pages = entries.map((entry) =>
    sitePage(
      entry.path,
      entryPage(
        entry,
        items.filter(({ path }) => path === entry.path),
        (name) => exported.has(name),
      ),
    ),
  );
  return {
    items,
    pages: [sitePage('docs/reference/README.md', indexPage(entries, items)), ...pages],
  };
}

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly declarations: string;
}

function entriesOf(folder: string): readonly Entry[] {
  const { name, exports } = readManifest(folder);
  return Object.entries(exports).flatMap(([key, target]) => {
    if (typeof target === 'string') return [];
    return {
      name: name + key.slice(1),
      path: `docs/reference/${folder}${key.slice(1)}.md`,
      declarations: `${root}/packages/${folder}/${target.types}`,
    };
  });
}

function itemsOf({ name: entry, path, declarations }: Entry): readonly ReferenceItem[] {
  const file = DeclarationFile.read(declarations);
  const found = [...file.exports].flatMap(([name, [module]]) => {
    const declaration = file.resolve(name);
    if (declaration) return [{ name, entry, path, declaration, kind: kindOf(declaration) }];
    if (module?.startsWith('@isoloop/')) return []; // on the page of that package
    throw new Error(`${declarations} exports ${name}, but its declaration was not found.`);
  });
  const sorted = found.toSorted(
    (a, b) => Number(a.kind === 'type') - Number(b.kind === 'type') || compare(a.name, b.name),
  );
  const slugs = new Map<string, number>();
  return sorted.map((item) => {
    const slug = slugOf(item.name);
    const count = slugs.get(slug) ?? 0;
    slugs.set(slug, count + 1);
    return { ...item, anchor: count ? `${slug}-${count}` : slug };
  });
}

function compare(a: string, b: string): number {
  return a.toLowerCase() < b.toLowerCase() ? -1 : 1;
}

function entryPage(
  { name, path }: Entry,
  items: readonly ReferenceItem[],
  isExported: (name: string) => boolean,
): string {
  const values = items.filter(({ kind }) => kind !== 'type');
  const types = items.filter(({ kind }) => kind === 'type');
  const importLine = values.length > 0 ? `import { ${values[0]?.name} } from '${name}';` : '';
  const short = (list: readonly ReferenceItem[]): string =>
    list.map((item) => `[\`${item.name}\`](#${item.anchor})`).join(', ');
  return [
    `# ${name}`,
    `What \`${name}\` exports. This page is generated from the docstrings. [All entries](${indexFrom(path)}).`,
    importLine && `\`\`\`ts\n${importLine}\n\`\`\``,
    values.length > 0 && `Functions, classes and values: ${short(values)}.`,
    types.length > 0 && `Types: ${short(types)}.`,
    ...items.map((item) => itemSection(item, isExported)),
    '',
  ]
    .filter((part) => part !== false)
    .join('\n\n');
}

/**
 * Returns a line with the exported types that a function names, because code blocks have no links.
 */
function namedTypes({ nodes, file }: Declaration, isExported: (name: string) => boolean): string {
  const code = nodes.map(({ start, end }) => file.source.slice(start, end)).join(' ');
  const names = [...new Set(code.match(/\b[A-Z]\w+/g))].filter(isExported);
  return names.length > 0 ? `Types: ${names.map((name) => `\`${name}\``).join(', ')}.` : '';
}

/** Returns the relative link from an entry's page to the index. */
function indexFrom(path: string): string {
  return `${'../'.repeat(path.split('/').length - 3)}README.md`;
}

function itemSection(
  { name, kind, declaration }: ReferenceItem,
  isExported: (name: string) => boolean,
): string {
  const [node] = declaration.nodes;
  const { text, examples } = readDocComment(node ? declaration.file.docOf(node.start) : '');
  const groups = memberGroupsOf(declaration).map(({ from, members }) => {
    const title = from === undefined ? '' : `From \`${from}\`:\n\n`;
    const lines = members.map(
      (member) =>
        `- \`${member.signature.replaceAll('`', '')}\`${member.text && `: ${member.text}`}`,
    );
    return title + lines.join('\n');
  });
  return [
    `## \`${kind === 'function' ? `${name}()` : name}\``,
    text,
    `\`\`\`ts\n${signatureOf(declaration)}\n\`\`\``,
    ...examples.map((example) => `Example:\n\n\`\`\`ts\n${example}\n\`\`\``),
    kind === 'function' && namedTypes(declaration, isExported),
    ...groups,
    ...innerTypesOf(declaration, isExported),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function indexPage(entries: readonly Entry[], items: readonly ReferenceItem[]): string {
  const sections = entries.map(({ name, path }) => {
    const page = path.replace('docs/reference/', '');
    const links = items
      .filter((item) => item.path === path)
      .map((item) => `[\`${item.name}\`](${page}#${item.anchor})`);
    return `## [${name}](${page})\n\n${links.join(', ')}`;
  });
  return `# API reference\n\nEach export of each entry, with its signature, its options and their defaults. The pages are generated from the docstrings. See also the [error codes](errors.md), the [events](events.md), and the [formats](formats.md).\n\n${sections.join('\n\n')}\n`;
}
