import { errorText, textOf, type JsonValue } from '@isoloop/core';
import type { InspectedStep } from '../steps/inspected-run.ts';
import {
  forkBefore,
  forkWithArguments,
  forkWithInput,
  type ForkDraft,
} from '../steps/fork-draft.ts';
import type { LogTurn } from '../steps/log-turns.ts';
import { shownText } from '../steps/shown-text.ts';
import { el, type Child } from './dom.ts';

/**
 * Returns the draft of a fork with the text of the form, or `undefined` if the turn does not have
 * the step.
 */
type DraftOf = (latestTurn: LogTurn, text: string) => ForkDraft | undefined;

/** Stores a fork and shows it. `draftOf` gets the turn as the log has it now. */
export type ForkTurn = (
  turn: LogTurn,
  draftOf: (latestTurn: LogTurn) => ForkDraft | undefined,
) => Promise<void>;

type Save = (draftOf: DraftOf, text: string) => Promise<void>;

/** Returns the form with which a step is forked, if the log has the step. */
export function forkForm(step: InspectedStep, turn: LogTurn, fork: ForkTurn): readonly Child[] {
  const save: Save = (draftOf, text) => fork(turn, (latest) => draftOf(latest, text));
  switch (step.kind) {
    case 'input': {
      if (typeof step.messages === 'number') return [];
      const text = step.messages.map(textOf).join('\n');
      return [form('Ask something else', text, save, forkWithInput)];
    }
    case 'custom':
    case 'reason': {
      const reply = step.kind === 'custom' ? step.message : step.reply;
      if (!reply || !forkBefore(turn, reply.id)) return [];
      const draftOf: DraftOf = (latest) => forkBefore(latest, reply.id);
      return [form('Let the model reply again', undefined, save, draftOf)];
    }
    case 'act': {
      const { id, input } = step.call;
      if (!forkWithArguments(turn, id, null)) return [];
      const draftOf: DraftOf = (latest, text) =>
        forkWithArguments(latest, id, JSON.parse(text) as JsonValue);
      return [form('Run with other arguments', JSON.stringify(input, null, 2), save, draftOf)];
    }
    default:
      return [];
  }
}

function form(title: string, text: string | undefined, save: Save, draftOf: DraftOf): HTMLElement {
  const field = el('textarea', { rows: '3', 'aria-label': title, spellcheck: 'false' });
  // A field shows no secret either. Who needs it in the fork writes it again.
  field.value = shownText(text ?? '');
  const problem = el('p', { class: 'problem', role: 'alert' });
  const button = el('button', { type: 'submit' }, 'Start a new conversation');
  const onsubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    problem.textContent = '';
    button.disabled = true;
    try {
      await save(draftOf, field.value);
    } catch (error) {
      problem.textContent = errorText(error);
    }
    button.disabled = false;
  };
  return el(
    'details',
    { class: 'fold fork' },
    el('summary', {}, `Fork: ${title.toLowerCase()}`),
    el(
      'form',
      { onsubmit: (event: Event) => void onsubmit(event) },
      text !== undefined && field,
      el('div', { class: 'actions' }, button, problem),
    ),
  );
}
