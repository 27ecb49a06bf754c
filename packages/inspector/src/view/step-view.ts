import type { EventChange } from '@isoloop/core/observe';
import type { InspectedRun, InspectedStep, StepOf } from '../steps/inspected-run.ts';
import { stepRow } from '../steps/step-row.ts';
import { count, plural, shownText } from '../steps/shown-text.ts';
import { el, fill, type Child, type Part } from './dom.ts';
import { code, foldedMessages, messageList, outputView, replyView } from './message-view.ts';

export interface StepInRun {
  readonly step: InspectedStep;
  readonly run: InspectedRun;
  /** Number of the turn's messages in the log, because actions need the log. */
  readonly logged: number;
}

/** Returns the forms with which a step can be forked. */
type StepActions = (step: InspectedStep) => readonly Child[];

/** Shows a step as a row that opens. The content is made when the reader opens it. */
export function stepView(actions: StepActions): Part<StepInRun> {
  const summary = el('summary', {});
  const body = el('div', { class: 'body' });
  const details = el('details', { class: 'step' }, summary, body);
  let shownStep: StepInRun | undefined;
  let isFresh = false;
  const showBody = (): void => {
    if (!details.open || isFresh || !shownStep) return;
    isFresh = true;
    fill(body, [...bodyOf(shownStep), ...actions(shownStep.step)]);
  };
  details.addEventListener('toggle', showBody);
  return {
    node: el('li', {}, details),
    update(newStep) {
      const isSame =
        shownStep &&
        shownStep.logged === newStep.logged &&
        isSameStep(shownStep.step, newStep.step);
      shownStep = newStep;
      summary.replaceChildren(...summaryOf(newStep));
      details.className = `step ${newStep.step.kind}`;
      if (isSame) return;
      isFresh = false;
      showBody();
    },
  };
}

/** A finished step does not change, but a log that is read again has new objects for it. */
function isSameStep(one: InspectedStep, other: InspectedStep): boolean {
  if (one === other) return true;
  return (
    one.endedAt !== undefined &&
    one.endedAt === other.endedAt &&
    one.bytes === other.bytes &&
    one.changes.length === other.changes.length
  );
}

function summaryOf({ step, run }: StepInRun): readonly HTMLElement[] {
  const row = stepRow(step, run);
  const { start, share } = row.bar;
  const bar = el('span', { class: 'bar' });
  bar.style.setProperty('--from', `${start * 100}%`);
  bar.style.setProperty('--share', `${share * 100}%`);
  const state = `${row.isBad ? ' bad' : ''}${row.isRunning ? ' running' : ''}`;
  return [
    el('span', { class: `mark${state}`, 'aria-hidden': 'true' }),
    el(
      'span',
      { class: `what${state}` },
      el('span', { class: 'name' }, row.name),
      el('span', { class: 'about' }, row.about),
      row.changedBy.length > 0 &&
        el('span', { class: 'tag' }, `changed by ${row.changedBy.join(', ')}`),
    ),
    el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
    figure('tokens', row.tokens),
    figure('in the log', row.bytes),
    figure('', row.time),
  ];
}

/** Readers of the screen see the unit at the top of the column. */
function figure(unit: string, value: string): HTMLElement {
  return el(
    'span',
    { class: 'figure' },
    value,
    value && unit && el('span', { class: 'spoken' }, ` ${unit}, `),
  );
}

function bodyOf({ step, run }: StepInRun): readonly HTMLElement[] {
  return [...contentOf(step, run), ...changesView(step.changes)];
}

function contentOf(step: InspectedStep, run: InspectedRun): readonly HTMLElement[] {
  switch (step.kind) {
    case 'input':
      if (typeof step.messages === 'number') return [hiddenNote()];
      return [section('Messages', messageList(step.messages))];
    case 'reason':
      return reasonView(step, run);
    case 'act':
      return [
        ...(step.call.input === undefined
          ? []
          : [section('Arguments', code(step.call.input, 'Arguments'))]),
        ...(step.problem ? [section('Problem', code(step.problem))] : []),
        ...(step.progress.length
          ? [section('Progress', ...step.progress.map((chunk) => code(chunk)))]
          : []),
        ...(step.result
          ? [section(`Result: ${step.result.state}`, outputView(step.result.output ?? ''))]
          : []),
      ];
    case 'wait':
      return step.pending.map((call) => section(`${call.name} waits`, code(call)));
    case 'custom':
      return [section('Message', messageList([step.message]))];
    case 'fit':
      return [section('Tokens', code({ before: step.before, after: step.after }))];
    case 'error':
      return [section('Error', code(step.error.message))];
  }
}

/** Number of messages at the end of a prompt that are shown at once. */
const maxOpenMessages = 4;

const origins = {
  live: 'as it was sent',
  log: 'recomputed from the log: without the system prompt and what middleware adds',
  replay: 'recomputed by this replay',
} as const;

function reasonView(step: StepOf<'reason'>, run: InspectedRun): readonly HTMLElement[] {
  const { prompt, reply, text, thinking, usage, resets } = step;
  const { messages, tools, options } = prompt;
  const title = 'Conversation as the model saw it';
  return [
    typeof messages === 'number'
      ? section(title, hiddenNote())
      : section(
          title,
          el('span', { class: `origin ${run.origin}` }, origins[run.origin]),
          foldedMessages(messages, maxOpenMessages),
        ),
    ...(typeof tools !== 'number' && tools.length ? [toolsView(tools)] : []),
    ...(Object.keys(options).length ? [section('Settings', code(options, 'Settings'))] : []),
    section(
      step.endedAt === undefined ? 'Reply so far' : 'Reply',
      replyView(reply, text, thinking),
    ),
    ...(resets.length
      ? [section('Started over', el('p', { class: 'text' }, shownText(resets.join(', '))))]
      : []),
    ...(usage ? [usageView(usage)] : []),
  ];
}

function hiddenNote(): HTMLElement {
  const why = 'The endpoint does not show prompts to this user. Its option `inspect` allows it.';
  return el('p', { class: 'muted' }, why);
}

function toolsView(tools: readonly { readonly name: string }[]): HTMLElement {
  const fold = el(
    'details',
    { class: 'fold' },
    el('summary', {}, shownText(tools.map(({ name }) => name).join(', '))),
  );
  fold.addEventListener('toggle', () => fold.append(code(tools, 'Schemas')), { once: true });
  return section(plural(tools.length, 'tool'), fold);
}

function usageView(usage: NonNullable<StepOf<'reason'>['usage']>): HTMLElement {
  const rows: readonly (readonly [string, number | undefined])[] = [
    ['input', usage.inputTokens],
    ['from the cache', usage.cachedInputTokens],
    ['output', usage.outputTokens],
    ['reasoning', usage.reasoningTokens],
  ];
  const usedRows = rows.filter(([, value]) => value);
  return section(
    'Tokens',
    el(
      'dl',
      { class: 'figures' },
      ...usedRows.map(([name, value]) =>
        el('div', {}, el('dt', {}, name), el('dd', {}, count(value))),
      ),
    ),
  );
}

function changesView(changes: readonly EventChange[]): readonly HTMLElement[] {
  if (!changes.length) return [];
  const items = changes.map(({ middleware, at, fields }) =>
    el(
      'li',
      {},
      el('span', { class: 'role' }, shownText(middleware)),
      el('span', {}, fields.length ? `changed ${fields.join(', ')} in ${at}` : `answered in ${at}`),
    ),
  );
  return [section('Changed by middleware', el('ul', { class: 'changes' }, ...items))];
}

function section(title: string, ...content: readonly HTMLElement[]): HTMLElement {
  return el('section', { class: 'part' }, el('h3', {}, title), ...content);
}
