import { AgentError, type AgentErrorCode } from './agent-error.ts';

/**
 * Throws if the value is not an object, or if one of its fields has a wrong kind. `fields` lists
 * the fields as `key,key:kind|kind`, separated by blanks. A kind is a result of `typeof` such as
 * `string`, a method such as `read()` for an object with this method, or one of these:
 *
 * - `array`; `names`, an array of strings; `iterator()`, an iterable
 * - `count`, a number of 0 or more; `positive`, one above 0; `share`, one from 0 to 1
 * - `whole`, a whole number of 0 or more; `natural`, one of 1 or more; `Infinity`
 *
 * `NaN` is not a number here. Any other word means exactly this text. `|?` at the end marks an
 * optional field.
 */
export function checkFields(
  where: string,
  value: unknown,
  fields: string,
  code: AgentErrorCode = 'CONFIGURATION',
): void {
  if (typeof value !== 'object' || value === null)
    throw new AgentError(code, `${where} must be an object; got ${kindOf(value)}.`);
  for (const [key, kinds] of fieldsIn(fields)) {
    const given = (value as Record<string, unknown>)[key];
    // Most options of an agent are not set.
    if (given === undefined && kinds.includes('?')) continue;
    if (kinds.some((kind) => isKind(given, kind))) continue;
    const words = kinds
      .filter((kind) => kind !== '?')
      .map(wordsOf)
      .join(' or ');
    const isList = kinds.includes('names') && Array.isArray(given);
    const got = isList ? `an array with ${kindOf(given.find(isNoName))}` : kindOf(given);
    throw new AgentError(code, `${where}: ${key} must be ${words}; got ${got}.`);
  }
}

/** The kinds of each field, by its key: `['']` for a field without a check. */
type Fields = ReadonlyMap<string, readonly string[]>;

/** Parsed lists of fields. There are few lists, and each new agent uses most of them. */
const parsed = new Map<string, Fields>();

/** Returns the fields of a list. */
export function fieldsIn(list: string): Fields {
  const before = parsed.get(list);
  if (before) return before;
  const fields = new Map<string, readonly string[]>();
  for (const field of list ? list.split(' ') : []) {
    const [keys = '', kinds = ''] = field.split(':');
    for (const key of keys.split(',')) fields.set(key, kinds.split('|'));
  }
  parsed.set(list, fields);
  return fields;
}

/**
 * Throws if an option has a wrong type or an unknown name. Checks the types as `checkFields` does.
 * For an unknown name, the error lists all options.
 */
export function checkOptions(
  where: string,
  options: object,
  fields: string,
  code: AgentErrorCode = 'CONFIGURATION',
): void {
  checkFields(`The options of ${where}`, options, '', code);
  const key = unknownIn(options, fields);
  if (key !== undefined) {
    const names = [...fieldsIn(fields).keys()].join(', ') || 'no options';
    throw new AgentError(code, `${where} has no option \`${key}\`. It has: ${names}.`);
  }
  checkFields(where, options, fields, code);
}

/** Returns the first option that is not in `fields`. An `undefined` option counts as not set. */
export function unknownIn(options: object, fields: string): string | undefined {
  const known = fieldsIn(fields);
  return Object.keys(options).find(
    (key) => !known.has(key) && options[key as keyof object] !== undefined,
  );
}

/** A kind of value: its words in error messages, and its test if `typeof` does not know it. */
type Kind = readonly [words: string, test?: (given: unknown) => boolean];

const knownKinds: Readonly<Record<string, Kind>> = {
  '?': ['', (given) => given === undefined],
  string: ['a string'],
  number: ['a number'],
  boolean: ['a boolean'],
  function: ['a function'],
  object: ['an object'],
  array: ['an array', Array.isArray],
  names: ['an array of strings', (given) => Array.isArray(given) && !given.some(isNoName)],
  count: ['a number of 0 or more', (given) => isNumber(given, 0)],
  positive: ['a number above 0', (given) => isNumber(given, Number.MIN_VALUE)],
  share: ['a number from 0 to 1', (given) => isNumber(given, 0, 1)],
  whole: ['a whole number of 0 or more', (given) => isNumber(given, 0) && Number.isInteger(given)],
  natural: [
    'a whole number of 1 or more',
    (given) => isNumber(given, 1) && Number.isInteger(given),
  ],
  Infinity: ['Infinity', (given) => given === Infinity],
  'stream()': ["a model such as openai({ model: 'gpt-5' })"],
  'flat()': ['structured(schema)'],
  'schemas()': ['a Toolkit'],
  'iterator()': ['an iterable', (given) => hasMethod(given, Symbol.iterator)],
};

function isKind(given: unknown, kind: string): boolean {
  if (!kind) return true;
  const test = knownKinds[kind]?.[1];
  if (test) return test(given);
  if (kind.endsWith('()')) return hasMethod(given, kind.slice(0, -2));
  return given === kind || (typeof given === kind && given !== null && !Number.isNaN(given));
}

function isNumber(given: unknown, min: number, max = Infinity): boolean {
  return typeof given === 'number' && given >= min && given <= max;
}

function hasMethod(given: unknown, method: PropertyKey): boolean {
  return typeof Object(given)[method] === 'function';
}

function isNoName(item: unknown): boolean {
  return typeof item !== 'string';
}

function wordsOf(kind: string): string {
  return knownKinds[kind]?.[0] ?? (kind.endsWith('()') ? `an object with ${kind}` : `'${kind}'`);
}

function kindOf(given: unknown): string {
  if (given === undefined) return 'nothing';
  if (given === null || typeof given === 'number') return String(given);
  const kind = Array.isArray(given) ? 'array' : typeof given;
  return knownKinds[kind]?.[0] ?? `a ${kind}`;
}
