import { errorText } from '@isoloop/core';
import type { LogTurn } from '../steps/log-turns.ts';
import type { ShownRun } from '../steps/shown-runs.ts';
import { el } from './dom.ts';

/** What a view below a run gets. */
interface OpenedView {
  /** The turn of the run, as the log has it at the click. */
  readonly turn: LogTurn;
  /** Aborts when the view is closed or another view replaces it. */
  readonly signal: AbortSignal;
  /** Closes the view. */
  readonly onClose: () => void;
}

interface RunButtonsOptions {
  readonly shownRun: () => ShownRun;
  /** Reads a turn again. Becomes `undefined` if the inspector shows something else by then. */
  readonly latestTurn: (turn: LogTurn) => Promise<LogTurn | undefined>;
  /** The views that the buttons open, by the text of the button. */
  readonly views: Readonly<Record<string, (opened: OpenedView) => HTMLElement>>;
}

/** Returns the buttons of a run. Each reads the log and opens a view below the head of the run. */
export function runButtons(options: RunButtonsOptions): readonly HTMLElement[] {
  const { shownRun, latestTurn, views } = options;
  const problem = el('p', { class: 'problem', role: 'alert' });
  // Ends the open view. All buttons of a run share the place below its head.
  let controller = new AbortController();
  const show = (button: HTMLElement, turn: LogTurn, view: (typeof views)[string]): void => {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const onClose = (): void => {
      controller.abort();
      placeOf(button)?.replaceChildren();
      button.focus();
    };
    placeOf(button)?.replaceChildren(view({ turn, signal, onClose }));
  };
  return [
    ...Object.entries(views).map(([text, view]) => {
      const open = async (turn: LogTurn): Promise<void> => {
        problem.textContent = '';
        setBusy(button, true);
        try {
          const latest = await latestTurn(turn);
          if (latest) show(button, latest, view);
        } catch (error) {
          problem.textContent = errorText(error);
        }
        setBusy(button, false);
      };
      const onclick = (): void => {
        const { turn } = shownRun();
        if (turn) void open(turn);
      };
      const button = el('button', { type: 'button', onclick }, text);
      return button;
    }),
    problem,
  ];
}

/** Returns whether a button waits for the log. */
export function isBusy(button: HTMLButtonElement): boolean {
  return button.hasAttribute('aria-busy');
}

function setBusy(button: HTMLButtonElement, waits: boolean): void {
  if (waits) button.setAttribute('aria-busy', 'true');
  else button.removeAttribute('aria-busy');
  button.disabled = waits;
}

function placeOf(button: HTMLElement): HTMLElement | null | undefined {
  return button.closest('.run')?.querySelector<HTMLElement>(':scope > .extra');
}
