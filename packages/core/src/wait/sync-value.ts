import { misconfigured } from '../error/agent-error.ts';
import { markHandled } from './mark-handled.ts';

/**
 * Returns the value of a function that must be synchronous. Throws `CONFIGURATION` for a promise,
 * which would count as `true`. `what`: name of the function.
 */
export function syncValue<T>(what: string, value: T): T {
  if (!(value instanceof Promise)) return value;
  markHandled(value);
  throw misconfigured(`${what} must not be asynchronous: it returned a promise.`);
}
