import { AgentError } from './agent-error.ts';
import { checkFields } from './check-fields.ts';

/** Throws `CONFIGURATION` for a name that is not a string. `where`: start of the error message. */
export function checkNames(where: string, names: readonly unknown[] = []): void {
  for (const name of names) checkFields('CONFIGURATION', where, { name }, 'name:string');
}

/**
 * Throws `CONFIGURATION` for the first number that is not whole. A missing number and `Infinity`
 * are allowed.
 */
export function checkWhole(
  where: string,
  numbers: Readonly<Record<string, number | undefined>>,
): void {
  for (const [key, number = 0] of Object.entries(numbers)) {
    if (number % 1)
      throw new AgentError('CONFIGURATION', `${where}: ${key} must be a whole number or Infinity.`);
  }
}
