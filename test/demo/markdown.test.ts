import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { readFileSync } from 'node:fs';
import type * as Unified from 'unified';
import { unified } from 'unified';
import { expect, test, vi } from 'vitest';
import { codeBlocks } from '../../scripts/code-blocks.ts';
import { root } from '../../scripts/root.ts';
import { MarkdownBlocks } from '../../demo/src/page/markdown-blocks.ts';

test('the guide shows the code of the demo', () => {
  const blocks = codeBlocks('docs/guides/streaming-to-a-ui.md');
  const { source } = blocks.find(({ file }) => file === 'markdown-blocks.ts')!;
  const code = readFileSync(`${root}/demo/src/page/markdown-blocks.ts`, 'utf8');
  expect(source.trim()).toBe(code.trim());
});

const work = vi.hoisted(() => ({ characters: 0 }));

vi.mock('unified', async (load) => {
  const library = await load<typeof Unified>();
  const countingUnified = () => {
    const processor = library.unified();
    const parse = processor.parse.bind(processor);
    processor.parse = (text) => {
      work.characters += String(text).length;
      return parse(text);
    };
    return processor;
  };
  return { ...library, unified: countingUnified };
});

const parser = unified().use(remarkParse).use(remarkGfm);

/** Returns the syntax tree of a text without places and definitions. */
function treeOf(text: string): string {
  const nodes = parser.parse(text).children.filter((node) => !('identifier' in node));
  return JSON.stringify(nodes, (name, value: unknown) => (name === 'position' ? undefined : value));
}

function treeOfBlocks(blocks: readonly string[]): string {
  const nodes = blocks.flatMap((block) => JSON.parse(treeOf(block)) as unknown[]);
  return JSON.stringify(nodes);
}

const documents: readonly string[] = [
  'One.\n\n# Two\nthree\n===\n\n- a\n- b\n\n  c\n\n1. d\n\n2. e\n\nEnd.\n\nAnd more.',
  '# a\n#b\n\n2\n\n- x\n\n```js\nlet a;\n\n\nlet b;\n```\nText\n***\n~~~\nopen\n\nfence',
  'Table:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\nlazy\n\n> more\n\n    code\n\n    code\n\nx',
  '<div>\n<b>html</b>\n\n</div>\n\n<!-- a\n\nb -->\n\nText *em* **bold** `code`\n\n\n\nEnd\n\nx\n\ny',
  '你好,世界。**重点**是这个。\n\n第二段:`代码`。\n\n- 一\n- 二\n\n| 甲 | 乙 |\n|---|---|\n| 一 | 二 |\n\n結束。\n\n끝',
  '\n\n   \n  indented\r\n\r\nwindows\r\n\r\n- a\r\n- b\r\n\r\nend\r\n\r\nx\r\n',
];

test.for(documents)('the blocks of each beginning have the tree of the whole text: %j', (text) => {
  const splitter = new MarkdownBlocks();
  for (let end = 1; end <= text.length; end += 1) {
    const part = text.slice(0, end);
    const { blocks, isStale } = splitter.split(part, true);
    expect(isStale).toBe(false);
    expect([part, treeOfBlocks(blocks)]).toEqual([part, treeOf(part)]);
  }
});

test('finished blocks stay as they are, and a second look changes nothing', () => {
  const text = Array.from({ length: 20 }, (_, index) => `Paragraph ${index}.`).join('\n\n');
  const splitter = new MarkdownBlocks();
  const early = splitter.split(text.slice(0, 200), false).blocks;
  const late = splitter.split(text, false).blocks;
  expect(late.slice(0, early.length - 2)).toEqual(early.slice(0, -2));
  expect(splitter.split(text, false)).toEqual({ blocks: late, isStale: false });
  expect(splitter.split('Another text.', false).blocks).toEqual(['Another text.']);
});

test('a reference finds an address or a footnote that comes much later', () => {
  const rest = Array.from({ length: 5 }, () => 'Text.').join('\n\n');
  const text = `See [the docs] and [^1].\n\n${rest}\n\n[the docs]: https://x.y\n\n[^1]: A note.\n\n${rest}`;
  const splitter = new MarkdownBlocks();
  splitter.split(text.slice(0, 60), true);
  const [first = ''] = splitter.split(text, true).blocks;
  expect(treeOf(first)).toContain('"type":"linkReference"');
  expect(treeOf(first)).toContain('"type":"footnoteReference"');
});

/** Texts of about `length` characters, in which blocks are short, or one block is long. */
const kinds: Readonly<Record<string, (length: number) => string>> = {
  paragraphs: (length) => 'Some *words* in a paragraph.\n\n'.repeat(length / 30),
  'one paragraph': (length) => 'Some *words* in a text. '.repeat(length / 24),
  'Chinese without spaces': (length) => '这是一个很长的段落,**重点**在这里。'.repeat(length / 20),
  'one code block': (length) => `\`\`\`js\n${'let a = 1;\n'.repeat(length / 11)}`,
  'one list': (length) => '- an item\n'.repeat(length / 10),
  'one table': (length) => `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(length / 10)}`,
};

test.for(Object.entries(kinds))('twice as long a text costs twice as much: %s', ([, make]) => {
  const [short, long] = [4_000, 8_000].map((length) => {
    const text = make(length);
    const splitter = new MarkdownBlocks();
    work.characters = 0;
    for (let end = 16; end < text.length; end += 40) splitter.split(text.slice(0, end), false);
    const { characters } = work;
    expect(splitter.split(text, true).isStale).toBe(false);
    return characters;
  });
  expect(long! - short!).toBeLessThan(4_000 * 8);
});
