import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';
import { copyVersion } from '../../packages/core/src/memory/move/session-place.ts';
import { recordFields } from '../../packages/core/src/memory/log/log-record.ts';
import { formatVersion } from '../../packages/core/src/memory/log/stored/stored-batch.ts';
import { keyPrefix } from '../../packages/core/src/memory/store/storage-keys.ts';
import { rateKeyPrefix } from '../../packages/guards/src/counters/rate-limit.ts';
import { spendKeyPrefix } from '../../packages/guards/src/counters/spend-cap.ts';
import { recordKeyPrefix } from '../../packages/recall/src/search/keyword-memory.ts';
import { documentKeyPrefix } from '../../packages/recall/src/search/keyword-retriever.ts';
import { eventHandlers } from '../../packages/core/src/event/check-hook.ts';
import { asParagraph, readDocComment } from '../../scripts/docs/reference/doc-comment.ts';
import { DeclarationFile } from '../../scripts/docs/reference/declaration-file.ts';
import { memberGroupsOf, type MemberGroup } from '../../scripts/docs/reference/members.ts';
import { NameLinks } from '../../scripts/docs/reference/name-links.ts';
import { readReference } from '../../scripts/docs/reference/reference-pages.ts';
import { signatureOf } from '../../scripts/docs/reference/signature.ts';
import { findFiles } from '../../scripts/find-files.ts';
import { slugOf } from '../../scripts/packed-files.ts';
import { packageFolders } from '../../scripts/packages.ts';
import { root } from '../../scripts/root.ts';

const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const reference = readReference();

/** Returns the declaration of a name in the reference. */
function declarationOf(name: string, entry = '@isoloop/core') {
  return reference.items.find((item) => item.name === name && item.entry === entry)!.declaration;
}

test('each export of each entry has a docstring', () => {
  const missing = reference.items.filter(({ declaration: { file, nodes } }) =>
    nodes.every(({ start }) => file.docOf(start) === ''),
  );
  expect(missing.map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
  expect(reference.items.length).toBeGreaterThan(700);
});

test('each export has a heading on the page of its entry, at the anchor to which others link', () => {
  for (const { address, markdown } of reference.pages) {
    if (address === 'reference') continue;
    const counts = new Map<string, number>();
    const anchors = [...markdown.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => {
      const slug = slugOf(heading);
      const count = counts.get(slug) ?? 0;
      counts.set(slug, count + 1);
      return count ? `${slug}-${count}` : slug;
    });
    const items = reference.items.filter(({ path }) => path === `docs/${address}.md`);
    expect(items.map(({ anchor }) => anchor)).toEqual(anchors);
  }
});

test('the reference shows inherited options with their defaults, without those that a type omits', () => {
  const [kernel, defaults, standard] = memberGroupsOf(declarationOf('AgentOptions'));
  expect(kernel?.from).toBe('KernelOptions');
  expect(defaults?.from).toBe('KernelDefaults');
  expect(standard?.from).toBe('StandardOptions');
  const namesIn = (...groups: readonly MemberGroup[]): readonly string[] =>
    groups.flatMap(({ members }) => members).map(({ name }) => name);
  const names = namesIn(kernel!, defaults!);
  expect(names).toEqual(expect.arrayContaining(['model', 'tools', 'use']));
  expect(names.filter((name) => ['limits', 'whenBusy'].includes(name))).toEqual([]);
  expect(namesIn(standard!)).toEqual(expect.arrayContaining(['limits', 'whenBusy']));
  const limits = declarationOf('KernelLimits', '@isoloop/core/agent');
  const replyLength = memberGroupsOf(limits)[0]?.members.find(({ name }) => name === 'replyLength');
  expect(replyLength?.signature).toBe('replyLength?: number');
  expect(replyLength?.text).toContain('Default: 1,000,000.');
});

test('the reference shows the head of a class, and takes a method’s text from its interface', () => {
  const memory = declarationOf('InMemoryMemory');
  expect(signatureOf(memory)).toBe('class InMemoryMemory implements ExtendedMemory { … }');
  const methods = memberGroupsOf(memory)[0]?.members ?? [];
  for (const name of ['append', 'replace'])
    expect(methods.find((member) => member.name === name)?.text).toBeTruthy();
  const members = memberGroupsOf(declarationOf('ReActAgent')).flatMap((group) => group.members);
  expect(members.map(({ name }) => name)).toEqual(expect.arrayContaining(['call', 'observe']));
  expect(members.map(({ name }) => name)).not.toContain('withParts');
});

test('a name that another package exports is on the page of that package only', () => {
  const entry = DeclarationFile.read(`${root}/packages/web-worker/dist/move/index.d.ts`);
  expect(entry.exports.get('moveSession')?.[0]).toBe('@isoloop/core/move');
  const found = reference.items.filter(({ name }) => name === 'moveSession');
  expect(found.map((item) => item.entry)).toEqual(['@isoloop/core/move']);
});

test('readDocComment() separates examples from the text', () => {
  expect(
    readDocComment('Does it with {@link x}. Default: `5`.\n\n@example\n```ts\nrun();\n```'),
  ).toEqual({ text: 'Does it with `x`. Default: `5`.', examples: ['run();'] });
  expect(asParagraph('One of:\n\n- a\n- b\n  c')).toBe('One of: · a · b c');
});

test('names in code lead to the reference, but not plain words, headings, links and code blocks', () => {
  const links = new NameLinks(reference.items);
  const at = (name: string): string =>
    `[\`${name}\`](/docs/reference/core/#${slugOf(name.replace('()', ''))})`;
  const markdown =
    '# `SessionMemory`\n\n`SessionMemory`, `SessionMemory`, `tool`, `tool()`, [`textOf`](a)\n\n```ts\n`textOf`\n```\n';
  expect(links.addTo(markdown, 'concepts')).toBe(
    `# \`SessionMemory\`\n\n${at('SessionMemory')}, \`SessionMemory\`, \`tool\`, ${at('tool()')}, [\`textOf\`](a)\n\n\`\`\`ts\n\`textOf\`\n\`\`\`\n`,
  );
  expect(links.addTo('- `a: Msg[]`: says `Msg-x`', 'reference/core')).toBe(
    '- <code>a: <a href="/docs/reference/core/#msg">Msg</a>&#91;&#93;</code>: says `Msg-x`',
  );
});

test('an option or a member does not lead to the function of the same name', () => {
  const links = new NameLinks(reference.items);
  expect(links.addTo('`systemPrompt`, `wrapModel`', 'concepts')).toBe(
    '`systemPrompt`, `wrapModel`',
  );
  expect(links.addTo('`systemPrompt()`', 'concepts')).toContain('/docs/reference/core/prompt/#');
  for (const page of ['middleware', 'reference/middleware'])
    expect(links.addTo('`createMessage()`', page)).toBe('`createMessage()`');
});

test('the page for assistants names only exports of the entries', () => {
  const rows = [...read('packages/core/SKILL.md').matchAll(/^\| `(@isoloop[^`]*)` +\| (.*) \|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, entry, text = ''] of rows) {
    const names = [...text.split(';')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const exported = reference.items.filter((item) => item.entry === entry).map(({ name }) => name);
    expect(exported).toEqual(expect.arrayContaining(names));
  }
});

test('the tables of entries in the READMEs have each entry, and name only its exports', () => {
  const listed = packageFolders.flatMap((name) => {
    const page = read(`packages/${name}/README.md`);
    const table = page.split(/^\| entry /m)[1]!.split('\n\n')[0]!;
    return [...table.matchAll(/^\| `([^`]+)` +\|(.*)\|$/gm)].map(([, entry = '', text = '']) => {
      const path = `@isoloop/${name}${entry === '.' ? '' : entry}`;
      const exported = reference.items.filter((item) => item.entry === path);
      const shown = [...text.split(/needs? `/)[0]!.matchAll(/`([A-Za-z]{3,})(?:[(<][^`]*)?`/g)];
      const known = [...exported.map((item) => item.name), 'eval', 'unstorage'];
      expect(known, path).toEqual(expect.arrayContaining(shown.map(([, shownName]) => shownName)));
      return path;
    });
  });
  const entries = new Set(reference.items.map(({ entry }) => entry));
  expect(listed.toSorted()).toEqual([...entries].toSorted());
});

test('the section "The run" of the page about middleware has each member of Run', () => {
  const page = read('docs/middleware.md');
  const section = page.split('\n## The run\n')[1]!.split('\n## ')[0]!;
  const cells = [...section.matchAll(/^\| (`[^|]+)\|/gm)].map(([, cell]) => cell).join();
  const listed = new Set([...cells.matchAll(/`([\w.]+)/g)].map(([, name]) => name));
  const members = memberGroupsOf(declarationOf('Run')).flatMap((group) =>
    group.members.map(({ name }) => name),
  );
  // An overload has its name twice.
  expect([...listed].toSorted()).toEqual([...new Set(members)].toSorted());
});

test('the page about middleware has each member of Middleware', () => {
  const page = read('docs/reference/middleware.md');
  const rows = [...page.matchAll(/^\| (`[^|]+)\|/gm)].map(([, cell]) => cell).join();
  const members = memberGroupsOf(declarationOf('Middleware')).flatMap((group) => group.members);
  expect(members.length).toBeGreaterThan(10);
  for (const { name } of members) expect(rows).toContain(`\`${name}\``);
});

test('the page of error codes has each code with the status of the endpoint', () => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `([A-Z_]+)` .*\| +(\d+) \|$/gm)];
  const union = /export type AgentErrorCode =([^;]+);/.exec(
    read('packages/core/src/error/agent-error.ts'),
  )![1]!;
  const codes = [...union.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);
  expect(rows.map(([, code]) => code).toSorted()).toEqual(codes.toSorted());
  const source = read('packages/edge/src/http/error-response.ts');
  const statuses = new Map(
    [...source.matchAll(/^ {4}([A-Z_]+): \[(\d+)[\],]/gm)].map((m) => [m[1], m[2]]),
  );
  for (const [, code, status] of rows) expect([code, status]).toEqual([code, statuses.get(code)]);
});

test('the page of events and its picture have each event', () => {
  const page = read('docs/reference/events.md');
  const picture = read('docs/reference/events.svg');
  const rows = [...page.split('## Each event')[1]!.matchAll(/^\| `([a-z]+-?[a-z-]+)` +\|/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== 'type');
  expect(rows.toSorted()).toEqual(Object.keys(eventHandlers).toSorted());
  const drawn = [...picture.matchAll(/class="event"[^>]*>([a-z-]+)</g)].map(([, name]) => name);
  expect(drawn.toSorted()).toEqual(Object.keys(eventHandlers).toSorted());
});

test('the page of formats has the versions, the records and the prefixes of the source', () => {
  const page = read('docs/reference/formats.md');
  expect(page).toContain(`version of the format: ${formatVersion}`);
  expect(page).toMatch(new RegExp(`\\| \`version\` +\\| ${copyVersion} +\\|`));
  const kinds = Object.keys(recordFields);
  expect(kinds.length).toBeGreaterThan(8);
  for (const kind of kinds) expect(page).toMatch(new RegExp(`^\\| \`${kind}\` `, 'm'));
  const packagePrefixes = [rateKeyPrefix, spendKeyPrefix, recordKeyPrefix, documentKeyPrefix];
  for (const prefix of [...Object.values(keyPrefix), ...packagePrefixes])
    expect(page).toContain(`\`${prefix}`);
});

test('each function that an error names is an export or a member of one', () => {
  const known = new Set(
    reference.items.flatMap(({ name, declaration }) => [
      name,
      ...memberGroupsOf(declaration).flatMap(({ members }) =>
        // A member of a group such as `run.ending` has the group before its name.
        members.map((member) => member.name.split('.').at(-1)),
      ),
    ]),
  );
  const named = findFiles('packages/*/src/**/*.{ts,tsx}', { exclude: ['**/*.test.*'] }).flatMap(
    (path) =>
      stringsOf(path).flatMap((text) =>
        [...text.matchAll(/\b([a-z]\w*[A-Z]\w*)\(/g)].map(([, name = '']) => ({ path, name })),
      ),
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ name }) => !known.has(name))).toEqual([]);
});

/** Returns the strings and templates of a file that have several words. */
function stringsOf(path: string): readonly string[] {
  const texts: string[] = [];
  new Visitor({
    Literal: ({ value }) => typeof value === 'string' && texts.push(value),
    TemplateLiteral: ({ quasis }) => texts.push(quasis.map(({ value }) => value.raw).join('…')),
  }).visit(parseSync(path, read(path)).program);
  return texts.filter((text) => /\S \S+ \S/.test(text));
}
