import { AgentError } from '@isoloop/core';
import type { ReplayEnd } from '../replay/replay-end.ts';
import type { ReplayAgent } from '../replay/replay-run.ts';
import { stepGate } from '../replay/step-gate.ts';
import { EventRuns, type InspectedEvent } from '../steps/event-runs.ts';
import type { LogTurn } from '../steps/log-turns.ts';
import { replayScript } from '../steps/replay-script.ts';
import type { ShownRun } from '../steps/shown-runs.ts';
import { el, keyedList } from './dom.ts';
import { runView } from './run-view.ts';

interface ReplayPlayerOptions {
  readonly turn: LogTurn;
  readonly sessionId: string;
  readonly agent: ReplayAgent | undefined;
  /** Ends the replay. */
  readonly signal: AbortSignal;
  readonly onClose: () => void;
}

/**
 * Shows a replay of a turn, with buttons for the next step and for all steps. The replay waits
 * before each reply and each tool result until the reader goes on.
 */
export function replayPlayer(options: ReplayPlayerOptions): HTMLElement {
  const { turn, sessionId, agent, signal, onClose } = options;
  const events = new EventRuns('replay');
  const list = el('div', {});
  const show = keyedList<ShownRun>(
    list,
    ({ key }) => key,
    () => runView({ ofRun: () => [], ofStep: () => [] }),
  );
  const status = el('span', { class: 'muted', role: 'status' }, 'No model and no tool is called.');
  const nextButton = el('button', { type: 'button', disabled: true }, 'Next step');
  const playAllButton = el('button', { type: 'button' }, 'Play all');
  const gate = stepGate(signal, (waits) => (nextButton.disabled = !waits));
  nextButton.addEventListener('click', () => gate.next());
  playAllButton.addEventListener('click', () => gate.open());
  const closeButton = el('button', { type: 'button', onclick: onClose }, 'Close');
  const play = async (): Promise<void> => {
    // Loaded now, because it contains the loop.
    const { replayRun } = await import('../replay/replay-run.ts');
    const { endSentence, endAfter } = await import('../replay/replay-end.ts');
    const script = replayScript(turn);
    const run = replayRun({
      script,
      sessionId,
      agent,
      pause: () => gate.pause(),
      signal,
    });
    let end: ReplayEnd = { reason: '', lastMessage: undefined };
    for await (const batch of run) {
      const inspectedEvents = batch as readonly object[] as readonly InspectedEvent[];
      end = endAfter(end, inspectedEvents);
      events.add(inspectedEvents);
      show(events.runs.map((each) => ({ key: each.runId, run: each, turn: undefined })));
    }
    status.textContent = endSentence(turn, end, agent !== undefined);
  };
  const fail = (error: unknown): void => {
    if (!signal.aborted) status.textContent = AgentError.from(error).message;
  };
  play()
    .catch(fail)
    .finally(() => {
      nextButton.disabled = true;
      playAllButton.disabled = true;
    });
  return el(
    'section',
    { class: 'part replay', 'aria-label': 'Replay' },
    el('h3', {}, 'Replay'),
    el('div', { class: 'actions' }, nextButton, playAllButton, closeButton, status),
    list,
  );
}
