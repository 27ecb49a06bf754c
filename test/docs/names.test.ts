import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');

/** Pages of this library. The pages in `coming-from` are about the names of other systems. */
const pages = findFiles(['*.md', 'demo/*.md', 'docs/**/*.md', 'packages/*/{README,SKILL}.md'], {
  exclude: ['CHANGELOG.md', 'docs/coming-from/*.md', 'docs/zh/coming-from.md'],
});

const sources = [
  'package.json',
  'packages/core/package.json',
  ...findFiles(
    '{packages/*/{src,test-support,templates},demo/{src,edge},scripts,test}/**/*.{ts,tsx}',
    { exclude: ['**/*.test.ts', '**/*.test.tsx'] },
  ),
];
/** Lists of the names of other libraries, for advice in errors. */
const foreignLists = /: OtherNames<[^=]*= \{[\s\S]*?\};\n|const sessionNames[^;]*;/g;
const sourceText = sources.map((path) => read(path).replaceAll(foreignLists, '')).join('\n');
const known = new Set(sourceText.match(/[\w$]+/g));

/** Names of others, and names that a page makes up. */
const foreign = new Set(
  `
  AIChatAgent DirectChatTransport StateGraph ToolLoopAgent
  addToolResult dataPartSchemas elementStream getRequestListener initialValue maxSteps messageMetadataSchema
  prepareSendMessagesRequest pruneMessages stopWhen streamText useAISDKRuntime
  useChatRuntime useObject useThreadTokenUsage
  inputType isEnabled lastAgent maxTurns onHandoff toolDescriptionOverride toolNameOverride
  approveToolCall inputProcessors outputProcessors requireApproval savePerStep structuredOutput
  ExactMatch ListContains NumericDiff ValidJSON idleTimeout
  forceFlush functionCallingModelIds upsert
  NameStore acme dollarBudget pingRoute showMap sqlStore useTokenCount wholeTimeout
  `.match(/\w+/g),
);

/** Returns the functions, options and types in the code of a page that no source has. */
function unknownNames(markdown: string, names: ReadonlySet<string>): readonly string[] {
  const block = /^ *```[\s\S]*?^ *```/gm;
  const inExamples = new Set((markdown.match(block) ?? []).join('\n').match(/[\w$]+/g));
  const inlines = markdown.replaceAll(block, '').matchAll(/`([^`\n]+)`/g);
  const found = [...inlines].flatMap(([, code = '']) =>
    [...code.matchAll(/[A-Za-z_$][\w$]*/g)]
      .map(([name]) => name)
      .filter((name) => /[a-z][A-Z]/.test(name) || code.includes(`${name}(`)),
  );
  return [...new Set(found)].filter((name) => !names.has(name) && !inExamples.has(name));
}

test.each(pages)('each function, option and type that %s names is in the source', (page) => {
  expect(unknownNames(read(page), new Set([...known, ...foreign]))).toEqual([]);
});

test('each name in the list of foreign names is on a page, and not in the source', () => {
  const text = pages.map(read).join('\n');
  const stale = [...foreign].filter((name) => !text.includes(name) || known.has(name));
  expect(stale).toEqual([]);
});

test('a name that no source has is found, unless an example declares it', () => {
  const markdown = 'Call `oldName()` or `own({ newOption })`.\n\n```ts\nconst own = 1;\n```\n';
  expect(unknownNames(markdown, new Set(['newOption']))).toEqual(['oldName']);
});
