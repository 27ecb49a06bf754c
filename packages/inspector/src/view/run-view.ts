import { endWords, runTitle } from '../steps/step-row.ts';
import { count, duration, plural, size } from '../steps/shown-text.ts';
import type { ShownRun } from '../steps/shown-runs.ts';
import { el, fill, keyedList, type Child, type Part } from './dom.ts';
import { stepView, type StepInRun } from './step-view.ts';
import type { InspectedStep } from '../steps/inspected-run.ts';
import { isBusy } from './run-buttons.ts';

/** What a reader can do with a run. */
interface RunActions {
  /** Buttons of a run. Called once, when the log has the run. */
  readonly ofRun: (getRun: () => ShownRun) => readonly Child[];
  /** Forms of a step. */
  readonly ofStep: (step: InspectedStep, shownRun: ShownRun) => readonly Child[];
}

const badges = { live: 'live', log: 'from the log', replay: 'replay' } as const;

/** Shows a run: its question, its figures, its buttons, and its steps. */
export function runView(actions: RunActions): Part<ShownRun> {
  const title = el('h2', {});
  const facts = el('p', { class: 'facts' });
  const buttons = el('div', { class: 'actions' });
  const extra = el('div', { class: 'extra' });
  const list = el('ol', { class: 'steps' });
  const node = el(
    'div',
    { class: 'run', role: 'group' },
    el('header', {}, el('div', { class: 'heading' }, title, facts), buttons),
    extra,
    list,
  );
  let current: ShownRun;
  const showSteps = keyedList<StepInRun>(
    list,
    ({ step }) => step.key,
    () => stepView((step) => actions.ofStep(step, current)),
  );
  return {
    node,
    update(shownRun) {
      current = shownRun;
      const { run } = shownRun;
      title.textContent = runTitle(run);
      facts.replaceChildren(...factsOf(shownRun));
      node.className = `run ${run.origin}`;
      node.setAttribute('aria-label', `Run: ${runTitle(run)}`);
      if (!buttons.childElementCount)
        fill(
          buttons,
          actions.ofRun(() => current),
        );
      // Replays and tests come from the log, which has the run a moment later.
      for (const button of buttons.querySelectorAll('button'))
        button.disabled = !shownRun.turn || isBusy(button);
      const logged = shownRun.turn?.messages.length ?? 0;
      showSteps(run.steps.map((step) => ({ step, run, logged })));
    },
  };
}

function factsOf({ run }: ShownRun): readonly HTMLElement[] {
  const bytes = run.steps.reduce((sum, step) => sum + step.bytes, 0);
  const { inputTokens, outputTokens } = run.usage;
  const tokens = inputTokens + outputTokens;
  const end = endWords(run);
  const words = [
    plural(run.steps.filter(({ kind }) => kind !== 'input').length, 'step'),
    tokens ? `${count(tokens)} tokens` : '',
    bytes ? `${size(bytes)} in the log` : '',
    run.endedAt === undefined ? '' : duration(run.endedAt - run.startedAt),
  ];
  return [
    el('span', { class: `tag ${run.origin}` }, badges[run.origin]),
    el('span', { class: `end ${end}` }, end),
    ...words.filter(Boolean).map((word) => el('span', {}, word)),
  ];
}
