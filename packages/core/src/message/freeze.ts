import { isObjectOrArray } from './json.ts';

/**
 * Freezes a value and everything inside, so that a write to it throws. Returns the value. Leaves
 * bytes as they are.
 */
export function freeze<T>(value: T): T {
  if (isObjectOrArray(value) && !Object.isFrozen(value) && !ArrayBuffer.isView(value))
    Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}
