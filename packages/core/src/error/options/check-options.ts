import { AgentError, misconfigured, type AgentErrorCode } from '../agent-error.ts';
import { checkFields, checkObject } from './check-fields.ts';
import type { Kind } from './option-table.ts';

type Names = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * Throws if an option is of a wrong kind or has an unknown name. For an unknown name, the error
 * lists all options. `otherNames`: names that other libraries use, for advice.
 */
export function checkOptions(
  where: string,
  options: object | undefined,
  table: Readonly<Record<string, Kind | undefined>>,
  code: AgentErrorCode = 'CONFIGURATION',
  otherNames: Names = {},
): void {
  checkObject(`The options of ${where}`, options, code);
  const key = unknownOption(options, table);
  if (key !== undefined) {
    const names = Object.keys(table).join(', ') || 'no options';
    const message = `${where} has no option \`${key}\`. It has: ${names}.`;
    throw new AgentError(code, message + adviceFor(key, otherNames));
  }
  checkFields(where, options, table, code);
}

function adviceFor(key: string, otherNames: Names): string {
  const found = Object.entries(otherNames).find(([, names]) => names?.includes(key));
  return found ? ` Use \`${found[0]}\`.` : '';
}

/** Returns the first option that is not in the table. An `undefined` option counts as not set. */
export function unknownOption(options: object, table: object): string | undefined {
  return Object.keys(options).find(
    (key) => !Object.hasOwn(table, key) && options[key as keyof object] !== undefined,
  );
}

/**
 * Throws if a function without options got an argument. Otherwise the argument would have no
 * effect. `advice`: what to do in place of it, as a sentence.
 */
export function checkNoOptions(where: string, args: readonly unknown[], advice = ''): void {
  if (args.every((arg) => arg === undefined)) return;
  throw misconfigured(`${where} takes no options. ${advice}`.trim());
}
