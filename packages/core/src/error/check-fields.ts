import { AgentError, type AgentErrorCode } from './agent-error.ts';

/**
 * Throws if the value is not an object, or if one of its fields has a wrong kind. `fields` lists
 * the fields as `key,key:kind|kind`, separated by blanks. A kind is a result of `typeof` such as
 * `string`, or `array` or `iterator()` (an iterable). `count` means a number of 0 or more, and
 * `share` a number from 0 to 1. `NaN` is not a number here. A method such as `read()` means an object
 * with this method. Any other word means exactly this value. `|?` at the end marks an optional field.
 */
export function checkFields(
  code: AgentErrorCode,
  where: string,
  value: unknown,
  fields: string,
): void {
  if (typeof value !== 'object' || value === null)
    throw new AgentError(code, `${where} must be an object; got ${kindOf(value)}.`);
  for (const { key, kinds } of fieldsIn(fields)) {
    const given = (value as Record<string, unknown>)[key];
    if (kinds.some((kind) => isKind(given, kind))) continue;
    const words = kinds
      .filter((kind) => kind !== '?')
      .map(wordsOf)
      .join(' or ');
    throw new AgentError(code, `${where}: ${key} must be ${words}; got ${kindOf(given)}.`);
  }
}

/** Returns the keys in a list of fields. */
export function keysIn(fields: string): readonly string[] {
  return fieldsIn(fields).flatMap(({ key }) => key || []);
}

interface Field {
  readonly key: string;
  /** `['']` for a key without a check. */
  readonly kinds: readonly string[];
}

/** Parsed lists of fields. There are few lists, and each new agent uses most of them. */
const parsed = new Map<string, readonly Field[]>();

function fieldsIn(list: string): readonly Field[] {
  const known = parsed.get(list);
  if (known) return known;
  const fields = list.split(' ').flatMap((field): readonly Field[] => {
    const [keys = '', kinds = ''] = field.split(':');
    return keys.split(',').map((key) => ({ key, kinds: kinds.split('|') }));
  });
  parsed.set(list, fields);
  return fields;
}

/**
 * Checks options as `checkFields` does. Also throws for an option that is not in `fields`, and
 * names the most similar option, or all options. `agentFields`: options of the agent. For an
 * unknown option in this list, the error says to set it on the agent.
 */
export function checkOptions(
  code: AgentErrorCode,
  where: string,
  options: object,
  fields: string,
  agentFields = '',
): void {
  checkFields(code, `The options of ${where}`, options, '');
  const known = keysIn(fields);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || known.includes(key)) continue;
    const isOfAgent = keysIn(agentFields).includes(key);
    const advice = isOfAgent ? 'Set it on the agent.' : adviceFor(key, known);
    throw new AgentError(code, `${where} has no option \`${key}\`. ${advice}`);
  }
  checkFields(code, where, options, fields);
}

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

/**
 * Suggests the option that differs from `key` by text added or removed in one place. Otherwise lists
 * all options. Case, hyphens and underscores do not count.
 */
function adviceFor(key: string, options: readonly string[]): string {
  const plain = (name: string): string => name.toLowerCase().replace(/[-_]/g, '');
  const given = plain(key);
  const found = options.find((option) => {
    const name = plain(option);
    return isWithin(given, name) || isWithin(name, given);
  });
  if (found) return `Use \`${found}\`.`;
  return options.length ? `It has: ${options.join(', ')}.` : 'It has no options.';
}

/** Returns whether `long` is `short` with text added in one place. */
function isWithin(short: string, long: string): boolean {
  for (let at = 0; at <= short.length; at++) {
    if (long.startsWith(short.slice(0, at)) && long.endsWith(short.slice(at))) return true;
  }
  return false;
}

function isKind(given: unknown, kind: string): boolean {
  if (!kind) return true;
  if (kind === '?') return given === undefined;
  if (kind === 'array') return Array.isArray(given);
  if (kind === 'count') return typeof given === 'number' && given >= 0;
  if (kind === 'share') return typeof given === 'number' && given >= 0 && given <= 1;
  if (kind.endsWith('()')) {
    const method = kind === 'iterator()' ? Symbol.iterator : kind.slice(0, -2);
    return typeof Object(given)[method] === 'function';
  }
  return given === kind || (typeof given === kind && given !== null && !Number.isNaN(given));
}

/** Words for error messages, by kind, or by the method that identifies an object. */
const wordsFor: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  function: 'a function',
  object: 'an object',
  array: 'an array',
  count: 'a number of 0 or more',
  share: 'a number from 0 to 1',
  'stream()': "a model such as openai({ model: 'gpt-5' })",
  'flat()': 'structured(schema)',
  'schemas()': 'a Toolkit',
  'iterator()': 'an iterable',
};

function wordsOf(kind: string): string {
  return wordsFor[kind] ?? (kind.endsWith('()') ? `an object with ${kind}` : `'${kind}'`);
}

function kindOf(given: unknown): string {
  if (given === undefined) return 'nothing';
  if (given === null || typeof given === 'number') return String(given);
  const kind = Array.isArray(given) ? 'array' : typeof given;
  return wordsFor[kind] ?? `a ${kind}`;
}
