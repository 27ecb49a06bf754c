import { outputText, type ToolResult } from '@isoloop/core';
import type { Language } from './language.ts';

interface Words {
  readonly help: string;
  /** What happens if the worker or the tab ends during an answer. */
  readonly survival: string;
  readonly calculated: (expression: string, result: string) => string;
  readonly time: (city: string, time: string, weekday: number) => string;
  readonly paid: (to: string, coins: number, left: number) => string;
  readonly window: (width: number, height: number) => string;
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
    help: 'I am the offline model: a rule-based stand-in for a language model. Everything around me is real: the loop, the worker, the tools, the approvals and the log. I can calculate (17 * 23) and tell the time in a city (Tokyo, Paris, …). I can also pay play money (“pay 30 to Alice”) and keep notes (“note: buy milk”, “show my notes”, “delete note 1”). And I switch the page’s theme (“dark mode”). For anything else, choose a real model at the top of the page.',
    survival:
      'Before a tool starts, its call is in the session log, and its result follows as soon as the tool has finished. The log lies outside the worker: in this browser’s IndexedDB, or at the edge in the database of a Durable Object. If the worker dies while I write, a new one reads the log and continues this run. It asks the model once more for the reply that broke off. It takes every finished result from the log. So no finished tool runs twice. The same holds if this tab closes while another tab shows the conversation: that tab takes over. A tool that was in the middle of its work runs again only if its author has called that safe. Otherwise a person decides.',
    calculated: (expression, result) => `${expression} = ${result}.`,
    time: (city, time, weekday) => `In ${city} it is ${time} on ${weekdayName('en', weekday)}.`,
    paid: (to, coins, left) => `Paid ${coins} coins to ${to}. ${left} are left.`,
    window: (width, height) => `Your window is ${width} pixels wide and ${height} high.`,
    noted: (text) => `Noted: “${text}”.`,
    deleted: (text) => `Deleted: “${text}”.`,
    notes: 'Your notes:',
    noNotes: 'You have no notes yet.',
    theme: { light: 'The page is light now.', dark: 'The page is dark now.' },
    denied: 'All right, it stays as it is.',
    failed: (reason) => `That did not work: ${reason}`,
  },
  ja: {
    help: '私はオフラインモデルです。言語モデルの代わりに、決まった規則で答えます。ループ、ワーカー、ツール、承認、ログは本物です。計算（17 * 23）、都市の時刻（東京、パリなど）、おもちゃのお金の支払い（「アリスに30コイン払って」）、メモ（「メモ: 牛乳を買う」「メモを見せて」）、ページの配色（「ダークモード」）ができます。それ以外は、ページ上部で本物のモデルを選んでください。',
    survival:
      'ツールが始まる前にその呼び出しを、終わるとすぐに結果を、セッションログに書きます。ログはワーカーの外にあります。このブラウザでは IndexedDB、エッジでは Durable Object のデータベースです。回答の途中でワーカーが落ちても、新しいワーカーがログを読んでこの実行を続けます。途切れた回答だけをモデルにもう一度たずね、終わったツールの結果はログから取ります。ですから、終わったツールが二度動くことはありません。',
    calculated: (expression, result) => `${expression} = ${result} です。`,
    time: (city, time, weekday) => `${city}は${weekdayName('ja', weekday)}の${time}です。`,
    paid: (to, coins, left) => `${to}に${coins}コインを払いました。残りは${left}コインです。`,
    window: (width, height) => `ウィンドウは幅${width}、高さ${height}ピクセルです。`,
    noted: (text) => `メモしました：「${text}」`,
    deleted: (text) => `メモを消しました：「${text}」`,
    notes: 'メモの一覧：',
    noNotes: 'メモはまだありません。',
    theme: { light: 'ページを明るくしました。', dark: 'ページを暗くしました。' },
    denied: 'わかりました。そのままにしておきます。',
    failed: (reason) => `うまくいきませんでした：${reason}`,
  },
  zh: {
    help: '我是离线模型：用规则代替语言模型，其余都是真的：循环、Worker、工具、审批和日志。我会计算（17 * 23）、报城市时间（东京、巴黎等）、支付游戏币（“付给小王30个游戏币”）、记笔记（“记一下：买牛奶”“显示我的笔记”）、切换页面主题（“深色模式”）。其他问题请在页面上方选择真正的模型。',
    survival:
      '工具开始之前，这次调用已经写进会话日志；工具一结束，结果也写进去。日志在 Worker 之外：在浏览器里是 IndexedDB，在边缘是 Durable Object 的数据库。回答到一半时 Worker 死掉，新的 Worker 会读取日志，把这次运行接着做完：只重新请求中断的那段回复，已经完成的工具结果直接取自日志。所以完成过的工具不会运行第二次。',
    calculated: (expression, result) => `${expression} = ${result}。`,
    time: (city, time, weekday) => `${city}现在是${weekdayName('zh', weekday)} ${time}。`,
    paid: (to, coins, left) => `已付给${to} ${coins} 个游戏币，还剩 ${left} 个。`,
    window: (width, height) => `窗口宽 ${width} 像素，高 ${height} 像素。`,
    noted: (text) => `已记下：“${text}”。`,
    deleted: (text) => `已删除：“${text}”。`,
    notes: '您的笔记：',
    noNotes: '还没有笔记。',
    theme: { light: '页面已切换为浅色。', dark: '页面已切换为深色。' },
    denied: '好的，保持不变。',
    failed: (reason) => `没有成功：${reason}`,
  },
  ko: {
    help: '저는 오프라인 모델입니다. 언어 모델 대신 정해진 규칙으로 답합니다. 루프, 워커, 도구, 승인, 로그는 모두 진짜입니다. 계산(17 * 23), 도시 시각(도쿄, 파리 등), 놀이 돈 보내기(“민수에게 30코인 보내 줘”), 메모(“메모: 우유 사기”, “메모 보여 줘”), 페이지 테마(“다크 모드”)를 할 수 있습니다. 다른 질문은 페이지 위에서 실제 모델을 골라 주세요.',
    survival:
      '도구가 시작되기 전에 호출이 세션 로그에 적히고, 도구가 끝나면 바로 결과가 적힙니다. 로그는 워커 밖에 있습니다. 브라우저에서는 IndexedDB에, 엣지에서는 Durable Object의 데이터베이스에 있습니다. 답하는 도중에 워커가 죽어도 새 워커가 로그를 읽고 이 실행을 이어 갑니다. 끊긴 답만 모델에 다시 묻고, 끝난 도구의 결과는 로그에서 가져옵니다. 그래서 끝난 도구가 두 번 실행되지 않습니다.',
    calculated: (expression, result) => `${expression} = ${result}입니다.`,
    time: (city, time, weekday) =>
      `${city}은(는) 지금 ${weekdayName('ko', weekday)} ${time}입니다.`,
    paid: (to, coins, left) => `${to}에게 ${coins}코인을 보냈습니다. 남은 코인은 ${left}개입니다.`,
    window: (width, height) => `창은 너비 ${width}, 높이 ${height}픽셀입니다.`,
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

/** Returns the text that says how a run survives the end of its worker or tab. */
export function survivalText(language: Language): string {
  return words[language].survival;
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
  if (name === 'pay')
    return say.paid(String(fields['to']), Number(fields['paid']), Number(fields['left']));
  if (name === 'window_size') return say.window(Number(fields['width']), Number(fields['height']));
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
