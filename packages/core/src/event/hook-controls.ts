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
      const [first, , third] = given;
      try {
        if (!use) throw new Error(`There is no control \`${name}\` at ${type}.`);
        if (isOver())
          throw new Error(`\`${name}\` was called after the hook at ${type} had ended.`);
        const fields = { target: first, reason: name === 'reject' ? first : third };
        checkFields(`${name}()`, fields, argumentsOf[name]);
      } catch (error) {
        const details = { hook, control: name, event: type };
        misuse.error ??= misconfigured(`Hook "${hook}": ${messageOf(error)}`, { details });
        throw misuse.error;
      }
      use(...given);
    },
  ]);
  return Object.fromEntries(guarded) as unknown as HookControl;
}
