import { misconfigured, type AgentError } from '../error/agent-error.ts';
import type { AgentEvent } from './agent-event.ts';
import type { EventControls, HookControl } from './hook.ts';

/** The first wrong use of a control in a run. */
export interface Misuse {
  error?: AgentError;
}

interface ControlOptions {
  /** Name of the hook, for errors. */
  readonly hook: string;
  readonly misuse: Misuse;
  isOver(): boolean;
}

const names: readonly (keyof HookControl)[] = ['stop', 'gotoReasoning', 'jumpTo', 'reject'];

/** The controls of each event, as `EventControls` has them. Other events have none. */
const controlsOf: Readonly<Record<string, string>> = {
  'run-start': 'reject',
  'pre-call': 'reject stop jumpTo',
  'pre-reasoning': 'stop jumpTo gotoReasoning',
  'post-reasoning': 'stop jumpTo gotoReasoning',
  'pre-acting': 'reject stop',
  'post-acting': 'stop jumpTo gotoReasoning',
  'pre-summary': 'stop',
} satisfies Record<keyof EventControls, string>;

/**
 * Returns the controls that a hook handler gets for one event. A control throws if the event does
 * not offer it, or if the handler has ended (`isOver`). `misuse` stores the error, because the
 * handler may catch the exception.
 */
export function controlsAt(
  type: AgentEvent['type'],
  control: Partial<HookControl>,
  { hook, misuse, isOver }: ControlOptions,
): HookControl {
  const offered = controlsOf[type]?.split(' ') ?? [];
  const guarded = names.map((name) => [
    name,
    (...given: never[]) => {
      const use = control[name] as ((...given: never[]) => void) | undefined;
      const isOffered = use && offered.includes(name);
      if (isOffered && !isOver()) return use(...given);
      const problem = isOffered
        ? `\`${name}\` was called after the hook at ${type} had ended.`
        : `There is no control \`${name}\` at ${type}.`;
      const details = { hook, control: name, event: type };
      misuse.error ??= misconfigured(`Hook "${hook}": ${problem}`, { details });
      throw misuse.error;
    },
  ]);
  return Object.fromEntries(guarded) as unknown as HookControl;
}
