import type { JsonValue } from '@isoloop/core';
import { errorText, textOf } from '@isoloop/core';
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

/** Stores a fork and shows it. */
export type Fork = (draft: ForkDraft) => Promise<void>;

/** Returns the form with which a step is forked, if the log has the step. */
export function forkForm(step: InspectedStep, turn: LogTurn, fork: Fork): readonly Child[] {
  switch (step.kind) {
    case 'input': {
      if (typeof step.messages === 'number') return [];
      const text = step.messages.map(textOf).join('\n');
      return [form('Ask something else', text, (input) => forkWithInput(turn, input), fork)];
    }
    case 'custom':
    case 'reason': {
      const reply = step.kind === 'custom' ? step.message : step.reply;
      const draft = reply && forkBefore(turn, reply.id);
      return draft ? [form('Let the model reply again', undefined, () => draft, fork)] : [];
    }
    case 'act': {
      const { id, input } = step.call;
      const change = (text: string): ForkDraft | undefined =>
        forkWithArguments(turn, id, JSON.parse(text) as JsonValue);
      if (!forkWithArguments(turn, id, null)) return [];
      return [form('Run with other arguments', JSON.stringify(input, null, 2), change, fork)];
    }
    default:
      return [];
  }
}

function form(
  title: string,
  text: string | undefined,
  draftOf: (text: string) => ForkDraft | undefined,
  fork: Fork,
): HTMLElement {
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
      const draft = draftOf(field.value);
      if (draft) await fork(draft);
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
