import { errorText, type Msg } from '@isoloop/core';
import type { LogRecord } from '@isoloop/core/log';
import type { ReplayAgent } from '../replay/replay-run.ts';
import type { InspectorSession, InspectorSource } from '../source/inspector-source.ts';
import { contextUse } from '../steps/context-use.ts';
import { EventRuns, type InspectedEvent } from '../steps/event-runs.ts';
import { turnsInLog, type LogTurn } from '../steps/log-turns.ts';
import { shownRuns, type ShownRun } from '../steps/shown-runs.ts';
import { testFile } from '../steps/test-file.ts';
import { exportView } from './export-view.ts';
import { forkForm, type ForkTurn } from './fork-form.ts';
import { el, keyedList } from './dom.ts';
import { panelHead } from './panel-head.ts';
import { recordsView } from './records-view.ts';
import { replayPlayer } from './replay-player.ts';
import { runButtons } from './run-buttons.ts';
import { runView } from './run-view.ts';

interface InspectorPanelOptions {
  /** Called when the reader chooses another conversation, or has forked one. */
  readonly onSession: (sessionId: string, isFork: boolean) => void;
}

/** What the panel shows. */
interface Inspected {
  readonly source: InspectorSource | undefined;
  readonly sessionId: string | undefined;
  readonly contextWindow: number | undefined;
  readonly replayAgent: ReplayAgent | undefined;
}

/** Types of events after which the log has more. */
const writeEvents = /^(pre-call|post-reasoning|post-acting|suspended|run-end)$/;

/** Number of turns of the log that are shown at first, and that the reader adds at once. */
const turnsPerPage = 30;

/**
 * Delay before the log is read after an event, in milliseconds: a worker writes the log shortly
 * after the event.
 */
const afterWriteMs = 150;

/** The content of an inspector: reads a source, and shows a conversation. */
export class InspectorPanel {
  readonly node: HTMLElement;
  readonly #options: InspectorPanelOptions;
  readonly #head = panelHead({
    onSession: (sessionId) => this.#options.onSession(sessionId, false),
    onView: (view) => {
      this.#view = view;
      this.#render();
    },
  });
  readonly #problem = el('p', { class: 'problem', role: 'alert' });
  readonly #emptyNote = el(
    'p',
    { class: 'empty' },
    'Ask the agent something: each step shows here.',
  );
  readonly #earlierButton = el(
    'button',
    { type: 'button', class: 'earlier', onclick: () => this.#showEarlier() },
    'Show earlier runs',
  );
  readonly #runs = el('div', { class: 'runs' });
  readonly #records = recordsView();
  readonly #scroll = el('div', { class: 'scroll', tabindex: '0', role: 'region' });
  readonly #showRuns = keyedList<ShownRun>(
    this.#runs,
    ({ key }) => key,
    () => this.#runView(),
  );
  #view: 'timeline' | 'records' = 'timeline';
  #maxShownTurns = turnsPerPage;
  #inspected: Partial<Inspected> = {};
  #liveRuns = new EventRuns();
  #log: readonly LogRecord[] = [];
  #turns: readonly LogTurn[] = [];
  #sessions: readonly InspectorSession[] = [];
  #readController = new AbortController();
  /** Number of reads of the log so far, and of the read whose result is shown. */
  #reads = 0;
  #shownRead = 0;
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: InspectorPanelOptions) {
    this.#options = options;
    const { node } = this.#records;
    this.#scroll.append(this.#problem, this.#emptyNote, this.#earlierButton, this.#runs, node);
    this.node = el(
      'section',
      { class: 'inspector', lang: 'en', dir: 'ltr', 'aria-label': 'Agent inspector' },
      this.#head.node,
      this.#scroll,
    );
  }

  /** Shows something else. Events of the same conversation stay. */
  show(inspected: Inspected): void {
    const { source, sessionId } = inspected;
    const isOther = sessionId !== this.#inspected.sessionId;
    const isSame = !isOther && source === this.#inspected.source;
    this.#inspected = inspected;
    if (isOther) {
      this.#liveRuns = new EventRuns();
      this.#log = [];
      this.#turns = [];
      this.#maxShownTurns = turnsPerPage;
    }
    if (!isSame) this.#read();
    this.#scheduleRender();
  }

  /** Adds events that the page has from elsewhere. */
  add(events: readonly InspectedEvent[]): void {
    this.#liveRuns.add(events);
    this.#scheduleRender();
    if (events.some(({ type }) => writeEvents.test(type))) this.#reload(afterWriteMs);
  }

  /** Ends all reading. `show` begins again. */
  close(): void {
    this.#readController.abort();
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#inspected = {};
  }

  #read(): void {
    this.#readController.abort();
    this.#readController = new AbortController();
    this.#problem.textContent = '';
    const { source, sessionId } = this.#inspected;
    if (!source || sessionId === undefined) return;
    this.#reload(0);
    void this.#follow(source, sessionId, this.#readController.signal);
  }

  async #follow(source: InspectorSource, sessionId: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const batch of source.events(sessionId, signal)) {
        if (signal.aborted) return;
        this.add(batch);
      }
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  #reload(afterMs: number): void {
    clearTimeout(this.#timer);
    const read = (): void => {
      const { signal } = this.#readController;
      this.#readLog(signal).catch((error: unknown) => this.#fail(error, signal));
    };
    this.#timer = setTimeout(read, afterMs);
  }

  async #readLog(signal: AbortSignal): Promise<void> {
    const { source, sessionId } = this.#inspected;
    if (!source || sessionId === undefined) return;
    this.#reads += 1;
    const read = this.#reads;
    const [sessions, log] = await Promise.all([source.sessions(), source.records(sessionId)]);
    // A slow read must not replace the result of a later one.
    if (signal.aborted || read < this.#shownRead) return;
    this.#shownRead = read;
    this.#sessions = sessions;
    this.#log = log;
    this.#turns = turnsInLog(log);
    this.#scheduleRender();
  }

  #fail(error: unknown, signal: AbortSignal): void {
    if (!signal.aborted) this.#problem.textContent = errorText(error);
  }

  /** Draws at the next frame, because a reply has hundreds of events. */
  #scheduleRender(): void {
    this.#frame ||= requestAnimationFrame(() => this.#render());
  }

  #render(): void {
    this.#frame = 0;
    const isTimeline = this.#view === 'timeline';
    const isAtEnd = atEnd(this.#scroll);
    const runs = shownRuns(this.#liveRuns.runs, this.#turns, this.#maxShownTurns);
    const { sessionId, contextWindow } = this.#inspected;
    this.#head.update({
      sessions: this.#sessions,
      sessionId,
      view: this.#view,
      use: contextUse(runs.map(({ run }) => run)),
      contextWindow,
    });
    this.#scroll.setAttribute('aria-label', isTimeline ? 'Timeline' : 'Records of the log');
    this.#runs.hidden = !isTimeline;
    this.#records.node.hidden = isTimeline;
    this.#emptyNote.hidden = runs.length > 0;
    this.#earlierButton.hidden = !isTimeline || this.#turns.length <= this.#maxShownTurns;
    if (isTimeline) this.#showRuns(runs);
    else this.#records.update(this.#log);
    if (isAtEnd) this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  #showEarlier(): void {
    this.#maxShownTurns += turnsPerPage;
    const { scrollHeight } = this.#scroll;
    this.#render();
    // The reader keeps the place.
    this.#scroll.scrollTop += this.#scroll.scrollHeight - scrollHeight;
  }

  #runView(): ReturnType<typeof runView> {
    const { source } = this.#inspected;
    return runView({
      ofRun: (shownRun) => this.#runButtons(shownRun),
      ofStep: (step, { turn }) => (turn && source?.fork ? forkForm(step, turn, this.#fork) : []),
    });
  }

  #fork: ForkTurn = async (turn, draftOf) => {
    const latestTurn = await this.#latestTurn(turn);
    const draft = latestTurn && draftOf(latestTurn);
    if (!draft) return;
    const sessionId = await this.#inspected.source!.fork!(draft);
    this.#options.onSession(sessionId, true);
  };

  /**
   * Reads the log again, because a turn may have grown since the last read. Rejects if the log
   * cannot be read. Returns `undefined` if the inspector shows something else by then.
   */
  async #latestTurn(turn: LogTurn): Promise<LogTurn | undefined> {
    const { signal } = this.#readController;
    await this.#readLog(signal);
    if (signal.aborted) return undefined;
    const [{ id }] = turn.messages as readonly [Msg];
    return this.#turns.find(({ messages }) => messages.some((one) => one.id === id)) ?? turn;
  }

  #runButtons(shownRun: () => ShownRun): readonly HTMLElement[] {
    return runButtons({
      shownRun,
      latestTurn: (turn) => this.#latestTurn(turn),
      views: {
        Replay: (opened) => {
          const { sessionId = '', replayAgent: agent } = this.#inspected;
          return replayPlayer({ ...opened, sessionId, agent });
        },
        'Export test': ({ turn, onClose }) =>
          exportView(turn.isOpen ? undefined : testFile(turn), onClose),
      },
    });
  }
}

/** Returns whether the reader looks at the end, so that new rows may scroll into view. */
function atEnd({ scrollTop, scrollHeight, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < 40;
}
