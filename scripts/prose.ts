import { parseSync } from 'vite';
import type { SourceFile } from './layers.ts';

export interface ProseReport {
  /** One line per violation: `path:line: why`. */
  readonly violations: readonly string[];
  readonly sentences: number;
  readonly words: number;
}

interface Sentence {
  readonly text: string;
  readonly line: number;
}

/** Longest sentence of a comment, in words. A code span counts as one word. */
export const maxWords = 25;

/** Words that made readers stop, and British spelling. */
const avoided: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:gone|goes|go) on with\b/i, 'continue'],
  [/\bto be had\b/i, 'available'],
  [/\b(?:is|are|was|were) heard of\b/i, 'say who sends what'],
  [/\bgives? back\b/i, 'return'],
  [/\bin want of\b/i, 'without'],
  [/\bas long as that\b/i, 'while'],
  [/\bfor (?:what|who) is (?:no|not)\b/i, 'name the thing'],
  [/\b(?:colour|behaviour|favour|honour|neighbour)\w*\b/i, 'American spelling'],
  [
    /\b(?:normal|serial|organ|recogn|summar|initial|token)is(?:e[sd]?|ing|ation)\b/i,
    'American spelling',
  ],
  [/\b(?:cancell(?:ed|ing)|catalogue|licence|centre)\b/i, 'American spelling'],
];

/** Checks the comments of TypeScript files for long sentences and avoided words. */
export function checkProse(files: readonly SourceFile[]): ProseReport {
  const violations: string[] = [];
  let sentences = 0;
  let words = 0;
  for (const { path, source } of files) {
    for (const { text, line } of commentSentences(path, source)) {
      const count = wordsOf(text);
      sentences += 1;
      words += count;
      if (count > maxWords)
        violations.push(`${path}:${line}: ${count} words in one sentence, ${maxWords} at most.`);
      for (const [pattern, instead] of avoided) {
        const found = pattern.exec(text);
        if (found) violations.push(`${path}:${line}: "${found[0]}": ${instead}.`);
      }
    }
  }
  return { violations, sentences, words };
}

/** Returns the sentences of a file's comments. Adjacent line comments are one text. */
function commentSentences(path: string, source: string): readonly Sentence[] {
  const texts: { text: string; start: number; end: number }[] = [];
  for (const { type, value, start, end } of parseSync(path, source).comments) {
    const last = texts.at(-1);
    const text = type === 'Block' ? value.replace(/^[ \t]*\*+ ?/gm, '') : value;
    if (type === 'Line' && last && source.slice(last.end, start).trim() === '') {
      last.text += `\n${text}`;
      last.end = end;
    } else {
      texts.push({ text, start, end });
    }
  }
  return texts.flatMap(({ text, start }) => {
    const line = source.slice(0, start).split('\n').length;
    return sentencesIn(text).map((sentence) => ({ text: sentence, line }));
  });
}

function sentencesIn(text: string): readonly string[] {
  return text
    .replace(/@example[^@]*/g, '')
    .replace(/`[^`]*`/g, 'code')
    .split(blockStart)
    .map((block) => block.replace(/\s+/g, ' '))
    .flatMap((block) => block.split(sentenceEnd))
    .filter((sentence) => /[a-z]{2}/i.test(sentence));
}

/** An empty line, or the start of a list item. */
const blockStart = /\n[ \t]*(?:\n|- )/;

const sentenceEnd = /(?<=[.!?]["')]?) (?=\S)/;

function wordsOf(sentence: string): number {
  return sentence.split(' ').filter((word) => /\w/.test(word)).length;
}
