import { AgentError } from '../error/agent-error.ts';
import type { AgentEvent } from './agent-event.ts';
import type { HookControl } from './hook.ts';

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

const names = ['stop', 'gotoReasoning', 'jumpTo', 'reject'] as const;

/**
 * Returns the controls that a hook handler gets for one event. A control throws if the event does
 * not offer this control, if its argument is invalid, or if the handler has ended (`isOver`).
 * `misuse` stores the error, because the handler may catch the exception.
 */
export function controlsAt(
  type: AgentEvent['type'],
  control: Partial<HookControl>,
  { hook, misuse, isOver }: ControlOptions,
): HookControl {
  const guarded = names.map((name) => [
    name,
    (...given: never[]) => {
      const use = control[name] as ((...given: never[]) => void) | undefined;
      let wrong = wrongArgument(name, given);
      if (isOver()) wrong = `\`${name}\` was called after the hook at ${type} had ended.`;
      if (!use) wrong = `There is no control \`${name}\` at ${type}.`;
      if (use && !wrong) return use(...given);
      const details = { hook, control: name, event: type };
      misuse.error ??= new AgentError('CONFIGURATION', `Hook "${hook}": ${wrong}`, { details });
      throw misuse.error;
    },
  ]);
  return Object.fromEntries(guarded) as unknown as HookControl;
}

function wrongArgument(name: string, [first, , reason]: readonly unknown[]): string | undefined {
  if (name === 'reject' && !/string|undefined/.test(typeof first))
    return 'The reason of `reject` must be a text.';
  if (name !== 'jumpTo') return undefined;
  if (!/^(model|tools|end)$/.test(String(first)))
    return `\`jumpTo\` has no target "${String(first)}". Use "model", "tools" or "end".`;
  if (reason !== undefined && !/^(stop|limit|return-direct|stopped-by-hook)$/.test(String(reason)))
    return `A hook cannot end a call with reason "${String(reason)}".`;
  return undefined;
}
