/** The prose (comments, messages or paragraphs) of one file. */
export interface Prose {
  readonly path: string;
  readonly sentences: readonly Sentence[];
  /** Numbers of the lines of comments that are longer than `maxColumns`. Default: none. */
  readonly wideLines?: readonly number[];
}

export interface Sentence {
  readonly text: string;
  readonly line: number;
}

export interface ProseReport {
  /** One line per violation: `path:line: why`. */
  readonly violations: readonly string[];
  readonly sentences: number;
  readonly words: number;
}

/** Longest sentence, in words. A code span counts as one word. */
export const maxWords = 25;

/** Longest line of a comment, in columns. */
export const maxColumns = 100;

/**
 * Words that are hard to read, other forms of a default, and British spellings. Each has a hint or
 * a better word.
 */
const avoided: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:gone|goes|go) on with\b/i, 'continue'],
  [/\bto be had\b/i, 'available'],
  [/\b(?:is|are|was|were) heard of\b/i, 'say who sends what'],
  [/\bgives? back\b/i, 'return'],
  [/\bin want of\b/i, 'without'],
  [/\bas long as that\b/i, 'while'],
  [/\bfor (?:what|who) is (?:no|not)\b/i, 'name the thing'],
  [/\b(?:is|are) no (?:[a-z]+ )?(?:object|array|string|number|type|function)s?\b/i, 'is not'],
  [/\b(?:colour|behaviour|favour|honour|neighbour)\w*\b/i, 'American spelling'],
  [
    /\b(?:normal|serial|organ|recogn|summar|initial|token)is(?:e[sd]?|ing|ation)\b/i,
    'American spelling',
  ],
  [/@default\b|\bDefault (?:\d+|code\b|true\b|false\b)/, 'write "Default: …"'],
  [/\b(?:cancell(?:ed|ing)|catalogue|licence|centre)\b/i, 'American spelling'],
];

/** Checks prose for long sentences and avoided words. */
export function checkProse(files: readonly Prose[]): ProseReport {
  const violations: string[] = [];
  let sentences = 0;
  let words = 0;
  for (const file of files) {
    for (const line of file.wideLines ?? [])
      violations.push(
        `${file.path}:${line}: A comment has at most ${maxColumns} columns in a line.`,
      );
    for (const { text, line } of file.sentences) {
      const count = wordsOf(text);
      sentences += 1;
      words += count;
      const where = `${file.path}:${line}`;
      if (count > maxWords)
        violations.push(`${where}: ${count} words in one sentence, ${maxWords} at most.`);
      for (const [pattern, instead] of avoided) {
        const found = pattern.exec(text);
        if (found) violations.push(`${where}: "${found[0]}": ${instead}.`);
      }
    }
  }
  return { violations, sentences, words };
}

/** Splits a text into sentences. A line break is a space. Code spans must already be words. */
export function sentencesIn(text: string): readonly string[] {
  return text
    .replace(/\s+/g, ' ')
    .split(sentenceEnd)
    .filter((sentence) => /[a-z]{2}/i.test(sentence));
}

/** The end of a sentence. The signs `·` and `→` also separate sentences. */
const sentenceEnd = /(?<=[.!?]["')]?) (?=\S)| [·→] /;

function wordsOf(sentence: string): number {
  return sentence.split(' ').filter((word) => /\w/.test(word)).length;
}
