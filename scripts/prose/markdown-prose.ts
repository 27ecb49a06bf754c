import { lexer, type Token, type Tokens } from 'marked';
import { sentencesIn, type Prose, type Sentence } from './rules.ts';

/** Reads the prose of a Markdown file. Code blocks and HTML are not prose. */
export function markdownProse(path: string, source: string): Prose {
  const sentences: Sentence[] = [];
  readBlocks(lexer(source), 0);
  return { path, sentences };

  function readBlocks(tokens: readonly Token[], offset: number): void {
    let from = offset;
    for (const token of tokens) {
      const found = source.indexOf(token.raw, from);
      const start = found < 0 ? from : found;
      readBlock(token, start);
      if (found >= 0) from = found + token.raw.length;
    }
  }

  function readBlock(token: Token, start: number): void {
    if (token.type === 'list') readBlocks((token as Tokens.List).items, start);
    else if (token.type === 'list_item' || token.type === 'blockquote')
      readBlocks(childrenOf(token), start);
    else if (token.type === 'table') readTable(token as Tokens.Table, start);
    else if (isText(token)) add(childrenOf(token), lineAt(start));
  }

  function readTable({ header, rows }: Tokens.Table, start: number): void {
    for (const [index, row] of [header, ...rows].entries()) {
      // Skips the line of dashes between the header and the first row.
      const line = lineAt(start) + (index === 0 ? 0 : index + 1);
      for (const cell of row) add(cell.tokens, line);
    }
  }

  function add(inline: readonly Token[], line: number): void {
    for (const text of sentencesIn(plain(inline))) sentences.push({ text, line });
  }

  function lineAt(offset: number): number {
    return source.slice(0, offset).split('\n').length;
  }
}

function childrenOf(token: Token): readonly Token[] {
  return 'tokens' in token ? (token.tokens ?? []) : [];
}

function isText({ type }: Token): boolean {
  return type === 'paragraph' || type === 'heading' || type === 'text';
}

/** Returns the text of inline tokens. A code span is one word. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'codespan') return 'code';
      if (token.type === 'br') return ' ';
      if (token.type === 'html' || token.type === 'image') return '';
      if (childrenOf(token).length > 0) return plain(childrenOf(token));
      return 'text' in token ? String(token.text) : '';
    })
    .join('');
}
