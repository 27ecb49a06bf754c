import type { InspectorSession } from '../source/inspector-source.ts';
import type { ContextUse } from '../steps/context-use.ts';
import { briefly, count } from '../steps/shown-text.ts';
import { el, type Part } from './dom.ts';

type PanelView = 'timeline' | 'records';

interface PanelHead {
  readonly sessions: readonly InspectorSession[];
  readonly sessionId: string | undefined;
  readonly view: PanelView;
  readonly use: ContextUse | undefined;
  readonly contextWindow: number | undefined;
}

interface PanelHeadOptions {
  readonly onSession: (sessionId: string) => void;
  readonly onView: (view: PanelView) => void;
}

const views = { timeline: 'Timeline', records: 'Records' } as const;

/** The line above the timeline: the conversation, the context gauge, and the views. */
export function panelHead({ onSession, onView }: PanelHeadOptions): Part<PanelHead> {
  const select = el('select', { 'aria-label': 'Conversation' });
  select.addEventListener('change', () => onSession(select.value));
  const meter = el('meter', { min: '0', 'aria-label': 'Context of the last request' });
  const gaugeText = el('span', {});
  const gauge = el('p', { class: 'gauge' }, meter, gaugeText);
  const buttons = Object.entries(views).map(([name, text]) =>
    el('button', { type: 'button', onclick: () => onView(name as PanelView) }, text),
  );
  const columns = el(
    'div',
    { class: 'columns', 'aria-hidden': 'true' },
    ...['', 'Step', '', 'Tokens', 'In the log', 'Time'].map((text) => el('span', {}, text)),
  );
  const node = el(
    'header',
    { class: 'head' },
    el(
      'div',
      { class: 'bar-row' },
      select,
      gauge,
      el('div', { class: 'views', role: 'group', 'aria-label': 'View' }, ...buttons),
    ),
    columns,
  );
  return {
    node,
    update({ sessions, sessionId, view, use, contextWindow }) {
      showSessions(select, sessions, sessionId);
      for (const [index, name] of Object.keys(views).entries())
        buttons[index]?.setAttribute('aria-pressed', String(name === view));
      columns.hidden = view !== 'timeline';
      gauge.hidden = !use;
      if (!use) return;
      meter.hidden = !contextWindow;
      meter.max = contextWindow ?? use.tokens;
      meter.value = use.tokens;
      gaugeText.textContent = gaugeWords(use, contextWindow);
    },
  };
}

function gaugeWords({ tokens, isCounted }: ContextUse, window: number | undefined): string {
  const tokenCount = `${isCounted ? '' : 'about '}${count(tokens)}`;
  return window
    ? `${tokenCount} of ${count(window)} tokens`
    : `${tokenCount} tokens in the context`;
}

function showSessions(
  select: HTMLSelectElement,
  sessions: readonly InspectorSession[],
  current: string | undefined,
): void {
  const isListed = sessions.some(({ sessionId }) => sessionId === current);
  const listedSessions = [
    ...(isListed || current === undefined
      ? []
      : [{ sessionId: current, title: 'This conversation' }]),
    ...sessions,
  ];
  const options = listedSessions.map(
    ({ sessionId, title }) => [sessionId, briefly(title ?? sessionId, 60)] as const,
  );
  const isSame =
    options.length === select.options.length &&
    options.every(([value, text], index) => {
      const option = select.options[index];
      return option?.value === value && option.text === text;
    });
  if (!isSame)
    select.replaceChildren(...options.map(([value, text]) => el('option', { value }, text)));
  if (current !== undefined) select.value = current;
}
