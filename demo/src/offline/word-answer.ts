import { outputText, type ToolResult } from '@isoloop/core';
import type { Language } from './language.ts';

interface Words {
  readonly help: string;
  readonly calculated: (expression: string, result: string) => string;
  readonly time: (city: string, time: string, weekday: number) => string;
  readonly noted: (text: string) => string;
  readonly deleted: (text: string) => string;
  readonly notes: string;
  readonly noNotes: string;
  readonly theme: Readonly<Record<'light' | 'dark', string>>;
  readonly denied: string;
  readonly failed: (reason: string) => string;
}

const words: Readonly<Record<Language, Words>> = {
  en: {
    help: 'I am the offline model: a set of rules, not a language model. I can calculate (17 * 23) and tell the time in a city (Tokyo, Paris, …). I can also keep notes (“note: buy milk”, “show my notes”, “delete note 1”) and switch the page’s theme (“dark mode”). For anything else, choose a real model at the top of the page.',
    calculated: (expression, result) => `${expression} = ${result}.`,
    time: (city, time, weekday) => `In ${city} it is ${time} on ${weekdayName('en', weekday)}.`,
    noted: (text) => `Noted: “${text}”.`,
    deleted: (text) => `Deleted: “${text}”.`,
    notes: 'Your notes:',
    noNotes: 'You have no notes yet.',
    theme: { light: 'The page is light now.', dark: 'The page is dark now.' },
    denied: 'All right, it stays as it is.',
    failed: (reason) => `That did not work: ${reason}`,
  },
  ja: {
    help: '私はオフラインモデルです。言語モデルではなく、決まった規則で答えます。計算（17 * 23）、都市の時刻（東京、パリなど）、メモ（「メモ: 牛乳を買う」「メモを見せて」）、ページの配色（「ダークモード」）ができます。それ以外は、ページ上部で本物のモデルを選んでください。',
    calculated: (expression, result) => `${expression} = ${result} です。`,
    time: (city, time, weekday) => `${city}は${weekdayName('ja', weekday)}の${time}です。`,
    noted: (text) => `メモしました：「${text}」`,
    deleted: (text) => `メモを消しました：「${text}」`,
    notes: 'メモの一覧：',
    noNotes: 'メモはまだありません。',
    theme: { light: 'ページを明るくしました。', dark: 'ページを暗くしました。' },
    denied: 'わかりました。そのままにしておきます。',
    failed: (reason) => `うまくいきませんでした：${reason}`,
  },
  zh: {
    help: '我是离线模型：一组规则，不是语言模型。我会计算（17 * 23）、报城市时间（东京、巴黎等）、记笔记（“记一下：买牛奶”“显示我的笔记”）、切换页面主题（“深色模式”）。其他问题请在页面上方选择真正的模型。',
    calculated: (expression, result) => `${expression} = ${result}。`,
    time: (city, time, weekday) => `${city}现在是${weekdayName('zh', weekday)} ${time}。`,
    noted: (text) => `已记下：“${text}”。`,
    deleted: (text) => `已删除：“${text}”。`,
    notes: '您的笔记：',
    noNotes: '还没有笔记。',
    theme: { light: '页面已切换为浅色。', dark: '页面已切换为深色。' },
    denied: '好的，保持不变。',
    failed: (reason) => `没有成功：${reason}`,
  },
  ko: {
    help: '저는 오프라인 모델입니다. 언어 모델이 아니라 정해진 규칙으로 답합니다. 계산(17 * 23), 도시 시각(도쿄, 파리 등), 메모(“메모: 우유 사기”, “메모 보여 줘”), 페이지 테마(“다크 모드”)를 할 수 있습니다. 다른 질문은 페이지 위에서 실제 모델을 골라 주세요.',
    calculated: (expression, result) => `${expression} = ${result}입니다.`,
    time: (city, time, weekday) =>
      `${city}은(는) 지금 ${weekdayName('ko', weekday)} ${time}입니다.`,
    noted: (text) => `메모했습니다: “${text}”`,
    deleted: (text) => `메모를 지웠습니다: “${text}”`,
    notes: '메모 목록:',
    noNotes: '아직 메모가 없습니다.',
    theme: { light: '페이지를 밝게 바꾸었습니다.', dark: '페이지를 어둡게 바꾸었습니다.' },
    denied: '알겠습니다. 그대로 두겠습니다.',
    failed: (reason) => `실패했습니다: ${reason}`,
  },
};

/** Returns the text with which the offline model describes itself. */
export function helpText(language: Language): string {
  return words[language].help;
}

/** Turns the tools' results into an answer in the question's language, with one line per result. */
export function wordAnswer(results: readonly ToolResult[], language: Language): string {
  const said = results.map((result) => wordResult(result, words[language]));
  // Several denied calls have the same line, which appears once.
  return [...new Set(said)].join('\n');
}

function wordResult({ name, output, state }: ToolResult, say: Words): string {
  const text = outputText(output);
  if (state === 'denied') return say.denied;
  if (state !== 'success') return say.failed(text.replace(/^Error: /, ''));
  const fields = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (name === 'calculator')
    return say.calculated(String(fields['expression']), String(fields['result']));
  if (name === 'time_in_city')
    return say.time(
      String(fields['city']),
      String(fields['time']),
      weekdays.indexOf(String(fields['weekday'])),
    );
  if (name === 'set_theme') return say.theme[fields['theme'] === 'dark' ? 'dark' : 'light'];
  if ('added' in fields) return say.noted(textOfNote(fields['added']));
  if ('deleted' in fields) return say.deleted(textOfNote(fields['deleted']));
  const notes = fields['notes'] as readonly { readonly id: number; readonly text: string }[];
  return notes.length
    ? [say.notes, ...notes.map((note) => `${note.id}. ${note.text}`)].join('\n')
    : say.noNotes;
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function textOfNote(note: unknown): string {
  return (note as { readonly text: string }).text;
}

function weekdayName(language: Language, weekday: number): string {
  // 1 January 2023 was a Sunday, so the day of the month gives the day of the week.
  return new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' }).format(
    Date.UTC(2023, 0, 1 + weekday),
  );
}
