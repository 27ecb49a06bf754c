import { AgentError, errorText } from '@isoloop/core';

/** Type of the wrong options. A value of the type `never` fits the options of each function. */
export type Wrong = never;

/** Why the arguments of a function have no options to check. */
type Reason =
  /** It reads or makes data, such as messages, errors, texts and results. */
  | 'data'
  /** Its argument may be any value, such as the initial value of a state key. */
  | 'any value'
  /** The library creates the objects of the class. */
  | 'made by the library'
  /** It needs a component, so a test of its own shows that it refuses unknown options. */
  | 'React';

/** All functions and classes of an entry, each in one of the lists. Blanks separate the names. */
export interface TestedEntry {
  readonly exports: object;
  /** Calls of the functions with options. Each call adds the wrong options to those it needs. */
  readonly calls?: Readonly<Record<string, (wrong: Wrong) => unknown>>;
  /** Functions that create something, and take no arguments. */
  readonly withoutOptions?: string;
  /** Functions and classes whose first argument is something else than options. */
  readonly checked?: string;
  readonly others?: { readonly [R in Reason]?: string };
}

/** Adds the wrong options to right ones. */
export function given(more: object, wrong: Wrong): Wrong {
  return { ...more, ...(wrong as object) } as Wrong;
}

/**
 * Calls the functions of an entry with an unknown option, and returns a line for each that does not
 * refuse it. Also returns a line for each function that is in no list, or in two. `unknown`: how
 * errors name the unknown option.
 */
export async function missingRefusals(
  { exports, calls = {}, withoutOptions = '', checked = '', others = {} }: TestedEntry,
  unknown = / has no option `misspelled`\. It has: /,
): Promise<readonly string[]> {
  const lists = [withoutOptions, checked, ...Object.values(others)].map(namesIn);
  const listed = [...Object.keys(calls), ...lists.flat()];
  const functions = Object.entries(exports).flatMap(([name, value]) =>
    typeof value === 'function' ? [name] : [],
  );
  const isListedOnce = (name: string): boolean => listed.filter((one) => one === name).length === 1;
  const lines = [
    ...functions.filter((name) => !isListedOnce(name)).map((name) => `${name} is not in one list`),
    ...listed.filter((name) => !functions.includes(name)).map((name) => `${name} is not exported`),
  ];

  const wrong = { misspelled: 1 } as Wrong;
  for (const [name, call] of Object.entries(calls)) {
    const error = await errorOf(() => call(wrong));
    if (!unknown.test(errorText(error))) lines.push(`${name}: ${errorText(error)}`);
  }
  for (const name of namesIn(withoutOptions)) {
    const error = await errorOf(() => callExport(exports, name, wrong));
    if (!errorText(error).startsWith(`${name}() takes no options.`))
      lines.push(`${name}: ${errorText(error)}`);
  }
  for (const name of namesIn(checked)) {
    const error = await errorOf(() => callExport(exports, name, wrong));
    if (!AgentError.is(error)) lines.push(`${name}: ${errorText(error)}`);
  }
  return lines;
}

function namesIn(list: string): readonly string[] {
  return list.split(' ').filter(Boolean);
}

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return 'no error';
  } catch (error) {
    return error;
  }
}

function callExport(exports: object, name: string, argument: unknown): unknown {
  const value = exports[name as keyof object] as (argument: unknown) => unknown;
  const isClass = String(value).startsWith('class');
  return isClass ? Reflect.construct(value, [argument]) : value(argument);
}
