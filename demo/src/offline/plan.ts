import { outputText, type JsonObject, type ToolResult } from '@isoloop/core';
import { citiesIn } from '../tools/cities.ts';
import type { Note } from '../tools/notes.ts';
import { languageOf } from './language.ts';
import { wordAnswer } from './word-answer.ts';

export interface PlannedCall {
  readonly name: string;
  readonly input: JsonObject;
}

/**
 * Maximum number of tool calls for one question. A text with more parts is probably pasted data.
 */
const maxCalls = 12;

/**
 * Returns the tool calls that a question asks for: one or more per part of the question, or none
 * if no rule fits.
 */
export function plan(question: string): readonly PlannedCall[] {
  const noted = addedNote(question);
  // The rules must not read the text of a note as a question.
  const rest = noted ? question.slice(0, noted.at) : question;
  return [
    ...expressionsIn(rest).map((expression) => ({ name: 'calculator', input: { expression } })),
    ...(asksTime.test(rest)
      ? citiesIn(rest).map((city) => ({ name: 'time_in_city', input: { city } }))
      : []),
    ...(noted ? [{ name: 'notes', input: { action: 'add', text: noted.text } }] : []),
    ...deletedNotes(rest).map((id) => ({ name: 'notes', input: { action: 'delete', id } })),
    ...(!noted && needsNotes(rest) ? [{ name: 'notes', input: { action: 'list' } }] : []),
    ...paymentsIn(rest).map((input) => ({ name: 'pay', input })),
    ...(asksWindow.test(rest) ? [{ name: 'window_size', input: {} }] : []),
    ...themeIn(rest).map((theme) => ({ name: 'set_theme', input: { theme } })),
  ].slice(0, maxCalls);
}

/** Returns the tool calls that depend on the results of the first calls. */
export function planNext(question: string, results: readonly ToolResult[]): readonly PlannedCall[] {
  const doomed = doomedNotes(question);
  if (doomed) {
    return results.flatMap(listedNotes).flatMap(({ id, text }) => {
      return text.toLowerCase().includes(doomed.about)
        ? [{ name: 'notes', input: { action: 'delete', id } }]
        : [];
    });
  }
  const found = results.filter(
    ({ name, state }) => state === 'success' && ['calculator', 'time_in_city'].includes(name),
  );
  if (!found.length || !notesResult.test(question) || addedNote(question)) return [];
  return [
    {
      name: 'notes',
      input: { action: 'add', text: wordAnswer(found, languageOf(question)).replaceAll('\n', ' ') },
    },
  ];
}

const asksTime = /\btime\b|\bclock\b|何時|時間|時刻|몇\s*시|시간|几点|幾點|时间|時間/i;
const asksWindow = /\bhow (?:large|big|wide|tall|high)\b.*\bwindow\b/i;
const asksNotes =
  /\bnotes\b|メモ.*(見|一覧|表示|リスト|何)|메모.*(보여|목록|뭐|알려)|(显示|看|列出|有什么|有哪些).*(笔记|备忘)|(笔记|备忘).*(显示|看|列出|有什么|有哪些)/i;
const addsNote =
  /(?:^|[\s.;,。、，；])(?:note|remember|remind me|メモ|메모|记一下|記一下|记住|笔记)\s*[:：]\s*/i;
const deletesNote =
  /(?:delete|remove)\s+note\s*#?\s*(\d+)|メモ\s*(\d+)\s*(?:番)?を?(?:消|削除)|메모\s*(\d+)\s*번?을?\s*(?:삭제|지워)|删除(?:笔记|备忘)\s*(\d+)/i;

const notesResult =
  /\b(?:note|save|remember|(?:write|jot)\s+down)\b[^.?!:]*\b(?:results?|answers?|it|that|this|time)\b|\b(?:as|in|into|to)\s+(?:a\s+|my\s+)?notes?\b|メモして|メモに(?:書|残|保存)|(?:记|記)(?:下来|下來|下结果|下結果|到笔记)|存(?:为|成|到)笔记|메모해|메모에\s*(?:적|저장|남)/i;
const deletesAll =
  /(?:delete|remove|clear)\s+(?:all\s+)?(?:of\s+)?(?:my\s+|the\s+)?notes\b(?!\s*(?:#|\d|about|on|with))|メモを?(?:全部|すべて|全て)(?:消|削除)|(?:全部|すべて|全て)の?メモを?(?:消|削除)|(?:删除|清空)(?:我的|所有|全部)*的?(?:笔记|备忘)(?!\s*\d)|(?:모든|전체)\s*메모를?\s*(?:삭제|지워)|메모를?\s*(?:모두|전부|다)\s*(?:삭제|지워)/i;
const deletesAbout =
  /(?:delete|remove)\s+(?:the|my)\s+notes?\s+(?:about|on|with)\s+([^.,?!]+)|([^、。\s]+?)のメモを?(?:消|削除)|删除关于(.+?)的(?:笔记|备忘)|(\S+?)에?\s*(?:대한|관한)\s*메모를?\s*(?:삭제|지워)/i;

const survives =
  /\bsurviv|\bkill|\bcrash|生き残|落ち(?:て|る)|止めても|崩溃|杀掉|关掉.*继续|살아남|죽(?:어|이)/i;

/** Whether a question asks what happens if the worker or the tab ends. */
export function asksSurvival(question: string): boolean {
  return survives.test(question);
}

const payments: readonly RegExp[] = [
  /\b(?:pay|send|give)\s+(?<coins>\d+)\s+(?:coins?\s+)?to\s+(?<to>[\p{L}]+)/iu,
  /(?<to>[\p{L}]+?)(?:さん)?に(?<coins>\d+)\s*(?:コイン|枚)?を?(?:払|支払|送)/u,
  /(?:付给|支付给|给)(?<to>[\p{L}]+?)\s*(?<coins>\d+)\s*(?:个|枚)?(?:硬币|金币|游戏币)/u,
  /(?<to>[\p{L}]+?)에게\s*(?<coins>\d+)\s*(?:코인)?을?\s*(?:보내|지불|줘)/u,
];

function paymentsIn(text: string): readonly JsonObject[] {
  const found = payments.map((pattern) => pattern.exec(text)?.groups).find(Boolean);
  return found ? [{ to: found['to']!, coins: Number(found['coins']) }] : [];
}

function needsNotes(text: string): boolean {
  if (doomedNotes(text)) return true;
  return asksNotes.test(text) && !deletesNote.test(text) && !notesResult.test(text);
}

/**
 * Finds which notes the text asks to delete: the notes whose text contains `about`, in lower case.
 * An empty `about` means all notes.
 */
function doomedNotes(text: string): { readonly about: string } | undefined {
  if (deletesAll.test(text)) return { about: '' };
  const about = deletesAbout
    .exec(text)
    ?.slice(1)
    .find((group) => group !== undefined)
    ?.trim()
    .toLowerCase();
  return about ? { about } : undefined;
}

/** Returns the notes in a result of the notes tool. */
export function listedNotes({ name, state, output }: ToolResult): readonly Note[] {
  if (name !== 'notes' || state !== 'success') return [];
  return (JSON.parse(outputText(output)) as { readonly notes?: readonly Note[] }).notes ?? [];
}

function addedNote(question: string): { readonly at: number; readonly text: string } | undefined {
  const found = addsNote.exec(question);
  const text = found ? question.slice(found.index + found[0].length).trim() : '';
  return found && text ? { at: found.index, text } : undefined;
}

function deletedNotes(text: string): readonly number[] {
  const id = deletesNote
    .exec(text)
    ?.slice(1)
    .find((group) => group !== undefined);
  return id === undefined ? [] : [Number(id)];
}

/**
 * Finds arithmetic expressions: numbers with at least one operator between them. Skips dates such
 * as 2026-11-21.
 */
function expressionsIn(text: string): readonly string[] {
  const runs = text.normalize('NFKC').match(/[-(\s]*\d[\d\s.,+\-*/×÷^%()]*/g) ?? [];
  return runs
    .map((run) => run.replace(/[\s.,+\-*/×÷^%(]+$/, '').trim())
    .map(balanced)
    .filter(
      (run) =>
        /\d\s*\)*\s*[+\-*/×÷^%]\s*[(-]*\s*\d/.test(run) && !/^\d{4}-\d{1,2}-\d{1,2}$/.test(run),
    );
}

/** Removes a parenthesis that belongs to the surrounding sentence. */
function balanced(run: string): string {
  const count = (character: string): number => run.split(character).length - 1;
  if (count('(') > count(')') && run.startsWith('(')) return balanced(run.slice(1).trim());
  if (count(')') > count('(') && run.endsWith(')')) return balanced(run.slice(0, -1).trim());
  return run;
}

function themeIn(text: string): readonly ('dark' | 'light')[] {
  if (
    /dark\s*(mode|theme)|ダークモード|暗く|深色|暗色|夜间模式|다크\s*(모드|테마)|어둡게/i.test(text)
  )
    return ['dark'];
  if (
    /light\s*(mode|theme)|ライトモード|明るく|浅色|亮色|白天模式|라이트\s*(모드|테마)|밝게/i.test(
      text,
    )
  )
    return ['light'];
  return [];
}
