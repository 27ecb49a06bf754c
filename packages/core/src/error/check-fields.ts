import { AgentError, type AgentErrorCode } from './agent-error.ts';

/**
 * Throws for a value that is not an object, and for its first field of a wrong kind. `fields` lists
 * them as `key,key:kind|kind`, separated by blanks. Kinds are the names of `typeof`, `array`, `count` (0
 * or more), `read()` (an object with that method) and `iterator()` (an iterable). Any other word
 * means that exact value. `|?` at the end marks a field that may be missing.
 */
export function checkFields(
  code: AgentErrorCode,
  where: string,
  value: unknown,
  fields: string,
): void {
  const check = (name: string, given: unknown, kinds: string): void => {
    if (given === undefined && kinds.endsWith('?')) return;
    const wanted = kinds.replace('|?', '').split('|');
    if (wanted.some((kind) => isKind(given, kind))) return;
    const words = wanted.map(wordsOf).join(' or ');
    throw new AgentError(code, `${name} must be ${words}; got ${kindOf(given)}.`);
  };
  check(where, value, 'object');
  for (const field of fields.split(' ')) {
    const [keys, kinds] = field.split(':');
    if (!kinds) continue;
    for (const key of keys!.split(','))
      check(`${where}: ${key}`, (value as Record<string, unknown>)[key], kinds);
  }
}

/** Returns the keys of the fields. */
export function keysIn(fields: string): readonly string[] {
  return fields.split(' ').flatMap((field) => field.replace(/:.*/, '').split(','));
}

/** The options of other libraries that people try here. */
const alternatives: Readonly<Record<string, string>> = {
  instructions: 'systemPrompt',
  system: 'systemPrompt',
  prompt: 'systemPrompt',
  maxSteps: 'limits: { iterations }',
  maxIterations: 'limits: { iterations }',
  stopWhen: 'limits: { iterations }',
  abortSignal: 'signal',
  inputSchema: 'input',
  parameters: 'input',
  // A preset was spread into the options.
  0: 'use: […]',
  hooks: 'use: […]',
  extensions: 'use: […]',
  middleware: 'use: […]',
  context: 'use: […]',
};

/**
 * Checks like `checkFields`. It also throws for an option that is not listed, and names the one to
 * use. `agentFields`: options that belong to the agent instead.
 */
export function checkOptions(
  code: AgentErrorCode,
  where: string,
  options: object,
  fields: string,
  agentFields = '',
): void {
  checkFields(code, where, options, '');
  const known = new Set(keysIn(fields));
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || known.has(key)) continue;
    const use = alternatives[key]?.replace?.(/^(\w+).*/, '$1') ?? '';
    const advice = use && known.has(use) ? ` Use \`${alternatives[key]}\`.` : '';
    const place = keysIn(agentFields).includes(key) ? ' It is an option of the agent.' : '';
    throw new AgentError(code, `${where} has no option \`${key}\`.${advice}${place}`);
  }
  checkFields(code, where, options, fields);
}

function isKind(given: unknown, kind: string): boolean {
  if (kind === 'array') return Array.isArray(given);
  if (kind === 'count') return typeof given === 'number' && given >= 0;
  if (kind.endsWith('()')) {
    const method = kind === 'iterator()' ? Symbol.iterator : kind.slice(0, -2);
    return typeof Object(given)[method] === 'function';
  }
  return given === kind || (typeof given === kind && given !== null);
}

/**
 * Objects that users create with one of our functions or classes, by the method that identifies
 * them.
 */
const madeBy: Readonly<Record<string, string>> = {
  'stream()': "a model such as openai({ model: 'gpt-5' })",
  'begin()': 'structured(schema)',
  'append()': 'a Memory such as new InMemoryMemory()',
  'fork()': 'a Toolkit',
  'iterator()': 'an iterable',
  'addEventListener()': 'an AbortSignal',
};

function wordsOf(kind: string): string {
  if (kind === 'count') return 'a number of 0 or more';
  if (kind.endsWith('()')) return madeBy[kind] ?? `an object with ${kind}`;
  return /^(string|number|boolean|function|object|array)$/.test(kind)
    ? withArticle(kind)
    : `'${kind}'`;
}

function kindOf(given: unknown): string {
  if (given === undefined) return 'nothing';
  if (given === null) return 'null';
  return withArticle(Array.isArray(given) ? 'array' : typeof given);
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
