import { parseSync, Visitor, type ESTree, type ParseResult } from 'vite';
import { maxColumns, sentencesIn, type Prose } from './rules.ts';

interface Text {
  readonly text: string;
  /** Offset in the source. */
  readonly start: number;
}

/**
 * Reads the prose of a TypeScript file: its comments, and its strings of four or more words, which
 * are mostly error messages. Of the strings in a test file it reads only the titles of tests.
 */
export function sourceProse(path: string, source: string): Prose {
  const { comments, program } = parseSync(path, source);
  const strings = path.endsWith('.test.ts') ? testTitles(program) : longStrings(program);
  const texts = [...joinedComments(comments, source), ...strings];
  return {
    path,
    wideLines: wideLines(comments, source),
    sentences: texts.flatMap(({ text, start }) => {
      const line = source.slice(0, start).split('\n').length;
      return blocksOf(text)
        .flatMap(sentencesIn)
        .map((sentence) => ({ text: sentence, line }));
    }),
  };
}

/** Returns the lines of comments that are too long. A line with one word, such as a URL, is not. */
function wideLines(comments: ParseResult['comments'], source: string): readonly number[] {
  return comments.flatMap(({ start, end }) => {
    const first = source.slice(0, start).split('\n');
    const indent = first.at(-1)!;
    // A comment after code is as long as the line of code allows.
    if (indent.trim() !== '') return [];
    const lines = source.slice(start - indent.length, end).split('\n');
    return lines.flatMap((line, index) =>
      line.length > maxColumns && /\S +\S+ +\S/.test(line) ? [first.length + index] : [],
    );
  });
}

/** Joins adjacent line comments to one text. */
function joinedComments(comments: ParseResult['comments'], source: string): readonly Text[] {
  const texts: { text: string; start: number; end: number }[] = [];
  for (const { type, value, start, end } of comments) {
    const last = texts.at(-1);
    const text = type === 'Block' ? value.replace(/^[ \t]*\*+ ?/gm, '') : value;
    if (type === 'Line' && last && source.slice(last.end, start).trim() === '') {
      last.text += `\n${text}`;
      last.end = end;
    } else {
      texts.push({ text, start, end });
    }
  }
  return texts;
}

function longStrings(program: ESTree.Program): readonly Text[] {
  const strings: Text[] = [];
  const visitor = new Visitor({
    Literal: (node) => strings.push(...textOf(node)),
    TemplateLiteral: (node) => strings.push(...textOf(node)),
  });
  visitor.visit(program);
  return strings.filter(({ text }) => /^(?:\S+ +){3}\S/.test(text));
}

/** Finds the titles in calls such as `test('…')`, `test.for(cases)('…')` and `describe('…')`. */
function testTitles(program: ESTree.Program): readonly Text[] {
  const titles: Text[] = [];
  const visitor = new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (title && /^(?:test|it|describe)$/.test(firstName(callee))) titles.push(...textOf(title));
    },
  });
  visitor.visit(program);
  return titles;
}

/** Returns the text of a string. A substitution in a template counts as a code span. */
function textOf(node: ESTree.Node): readonly Text[] {
  if (node.type === 'Literal' && typeof node.value === 'string')
    return [{ text: node.value, start: node.start }];
  if (node.type !== 'TemplateLiteral') return [];
  const text = node.quasis.map(({ value }) => value.raw).join('code');
  return [{ text, start: node.start }];
}

/** Returns the first name of a called function: `test` for `test.for(cases)`. */
function firstName(callee: ESTree.Node): string {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return firstName(callee.object);
  if (callee.type === 'CallExpression') return firstName(callee.callee);
  return '';
}

function blocksOf(text: string): readonly string[] {
  return text
    .replace(/@example[^@]*/g, '')
    .replace(/`[^`]*`/g, 'code')
    .split(blockStart);
}

/** An empty line, or the start of a list item. */
const blockStart = /\n[ \t]*(?:\n|- )/;
