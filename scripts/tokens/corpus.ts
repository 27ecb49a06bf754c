import { readFileSync } from 'node:fs';
import { root } from '../root.ts';

/** A text with its token counts. The counts are in the order of `tokenizers`. */
export interface Segment {
  readonly label: string;
  readonly group: string;
  readonly counts: readonly number[];
  readonly text: string;
}

const folder = `${root}/test/fixtures/tokens`;

/** The tokenizer families for which the corpus has token counts. */
export const tokenizers: readonly string[] = (
  JSON.parse(readFileSync(`${folder}/meta.json`, 'utf8')) as {
    readonly tokenizers: readonly string[];
  }
).tokenizers;

/** The text labels of each group. A group has texts of one script or of one kind. */
const groups: Readonly<Record<string, string>> = {
  english: 'en-doc en-agent en-prose',
  'latin-eu': 'de fr es pt it nl sv',
  'latin-other': 'pl cs tr vi id fi hu ro sw tl ha yo zu',
  korean: 'ko',
  japanese: 'ja',
  'zh-simpl': 'zh-hans zh-agent',
  'zh-trad': 'zh-hant',
  'zh-classical': 'zh-classical',
  cyrillic: 'ru uk bg sr kk mn',
  greek: 'el',
  arabic: 'ar fa ur',
  hebrew: 'he',
  devanagari: 'hi mr',
  thai: 'th',
  indic: 'bn ta te gu kn ml pa si',
  rare: 'my km lo am bo ka hy',
  code: 'js ts py jvm cpp rust go shyaml',
  markup: 'html css minjs',
  json: 'json-pretty json-compact tool-schema tool-args json-lock',
  data: 'csv console urls paths mdtable box',
  entropy: 'base64 hex',
  numbers: 'numbers',
  emoji: 'emoji-flags emoji-zwj emoji-skin emoji-plain emoji-mix',
  'emoji-text': 'emoji-text',
  math: 'math',
};

export const groupNames: readonly string[] = Object.keys(groups);

const groupOf: ReadonlyMap<string, string> = new Map(
  Object.entries(groups).flatMap(([group, labels]) =>
    labels.split(' ').map((label) => [label, group] as const),
  ),
);

/** Reads one part of the corpus in `test/fixtures/tokens`. */
export function readSegments(part: 'train' | 'held'): readonly Segment[] {
  const lines = readFileSync(`${folder}/${part}.jsonl`, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const {
      l: label,
      n: counts,
      t: text,
    } = JSON.parse(line) as { l: string; n: readonly number[]; t: string };
    const group = groupOf.get(label);
    if (group === undefined) throw new Error(`The label "${label}" belongs to no group.`);
    return { label, group, counts, text };
  });
}
