import { type AgentError, messageOf, misconfigured } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
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

/** The fields of each control's arguments, for `checkFields`. */
const argumentsOf: Readonly<Record<keyof HookControl, string>> = {
  stop: '',
  gotoReasoning: '',
  jumpTo: 'target:model|tools|end reason:stop|limit|return-direct|stopped-by-hook|?',
  reject: 'reason:string|?',
};

const names = Object.keys(argumentsOf) as readonly (keyof HookControl)[];

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
      misuse.error ??= misconfigured(`Hook "${hook}": ${wrong}`, { details });
      throw misuse.error;
    },
  ]);
  return Object.fromEntries(guarded) as unknown as HookControl;
}

/** Returns the message of the error about a wrong argument. */
function wrongArgument(
  name: keyof HookControl,
  [first, , third]: readonly unknown[],
): string | undefined {
  const given = { target: first, reason: name === 'reject' ? first : third };
  try {
    checkFields(`${name}()`, given, argumentsOf[name]);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
