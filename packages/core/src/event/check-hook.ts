import { checkOptions } from '../error/agent-error.ts';
import type { Hook } from './hook.ts';

/** The types of all events, for `checkOptions`. */
export const eventNames: string =
  'run-start pre-call post-call pre-reasoning post-reasoning reasoning-chunk tool-input-chunk ' +
  'hosted-tool-chunk pre-acting acting-chunk post-acting pre-summary summary-chunk post-summary ' +
  'step-reset context-fitted suspended error run-end';

/** The fields of a hook, for `checkFields`. */
export const hookFields: string =
  'name:string|? on:object|? onError:fail|ignore|? priority:number|?';

/** Throws `CONFIGURATION` for a handler of an unknown event, or for one of the wrong type. */
export function checkHandlers({ on = {} }: Hook<never>): void {
  checkOptions('on', on, `${eventNames} *`);
  for (const [event, entry] of Object.entries(on)) {
    const handler = typeof entry === 'function' ? { handle: entry } : entry;
    checkOptions(`on: ${event}`, handler, 'handle:function priority:number|?');
  }
}

/**
 * Throws `CONFIGURATION` unless the value is a hook. Middleware with other fields belongs in `use`.
 */
export function checkHook(hook: Hook<never>): void {
  checkOptions('addHook()', hook, hookFields);
  checkHandlers(hook);
}
