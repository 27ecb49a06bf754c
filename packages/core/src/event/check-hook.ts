import type { Hook } from './hook.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { anything, func, number, object, oneOf, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { EventType } from './agent-event.ts';

/** All events. `checkHandlers()` tests their handlers. */
export const eventHandlers: OptionTable<Readonly<Record<EventType, unknown>>> = {
  'run-start': anything,
  'pre-call': anything,
  'post-call': anything,
  'pre-reasoning': anything,
  'post-reasoning': anything,
  'reasoning-chunk': anything,
  'tool-input-chunk': anything,
  'hosted-tool-chunk': anything,
  'pre-acting': anything,
  'acting-chunk': anything,
  'post-acting': anything,
  'pre-summary': anything,
  'summary-chunk': anything,
  'post-summary': anything,
  'step-reset': anything,
  'context-fitted': anything,
  suspended: anything,
  error: anything,
  'run-end': anything,
};

const handlerKeys = { ...eventHandlers, '*': anything };

/** The kinds of the fields of a hook. */
export const hookFields: OptionTable<Hook<never>> = {
  name: optional(string),
  on: optional(object),
  onError: optional(oneOf('fail', 'ignore')),
  priority: optional(number),
};

/** The kinds of a handler with a priority. */
const handlerFields = { handle: func, priority: optional(number) };

/** Throws `CONFIGURATION` for a handler of an unknown event, or for one of the wrong type. */
export function checkHandlers({ on = {} }: Hook<never>): void {
  checkOptions('on', on, handlerKeys);
  for (const [event, entry] of Object.entries(on)) {
    const handler = typeof entry === 'function' ? { handle: entry } : entry;
    checkOptions(`on: ${event}`, handler, handlerFields);
  }
}

/**
 * Throws `CONFIGURATION` unless the value is a hook. Middleware with other fields belongs in `use`.
 */
export function checkHook(hook: Hook<never>): void {
  checkOptions('addHook()', hook, hookFields);
  checkHandlers(hook);
}
