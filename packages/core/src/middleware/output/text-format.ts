import { AgentError } from '../../error/agent-error.ts';
import { isPlain, isRecord } from '../../message/json/is-record.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { parseJson } from '../../message/json/parse-json.ts';

/** A value that was found in a reply. */
export interface Said {
  readonly given: JsonValue;
  /**
   * Part of the reply that contains the value. Absent if the text of the answer is the value as
   * JSON.
   */
  readonly text?: string;
}

/** Text format of the value in an answer. */
export interface TextFormat {
  readonly name: 'JSON' | 'YAML';
  /** Returns the possible values in a reply, the most likely first. */
  read(text: string): Iterable<Said>;
}

/** Finds JSON in the whole text, in a code fence, or between the first and the last bracket. */
export const jsonText: TextFormat = {
  name: 'JSON',
  *read(text) {
    for (const candidate of [text, ...fenced(text), bracketed(text)]) {
      const given = parseJson(candidate);
      if (given !== undefined) yield { given };
    }
  },
};

/**
 * Creates a format that finds YAML in the whole text or in a code fence. The text of the answer
 * stays YAML. `parse` must throw on invalid YAML.
 */
export function yamlText(parse: (text: string) => unknown): TextFormat {
  return {
    name: 'YAML',
    *read(text) {
      for (const candidate of [text, ...fenced(text)]) {
        const given = tryParse(parse, candidate);
        if (given !== undefined) yield { given, text: candidate };
      }
    },
  };
}

/**
 * Returns the contents of code fences. The text is split: a regular expression would search from
 * each character if a fence is not closed.
 */
function fenced(text: string): readonly string[] {
  const insides = text.split('```').filter((_, index) => index % 2 === 1);
  return insides.map((inside) => inside.replace(/^(?:\w*[^\S\n]*\n|\w+\s)/, '').trimEnd());
}

function bracketed(text: string): string {
  return text.slice(
    Math.max(text.search(/[[{]/), 0),
    Math.max(text.lastIndexOf(']'), text.lastIndexOf('}')) + 1,
  );
}

function tryParse(parse: (text: string) => unknown, text: string): JsonValue | undefined {
  if (!text.trim()) return undefined;
  // Without aliases, a text has no more nodes than characters. More nodes mean that aliases expand
  // a small text to a huge value.
  let left = text.length + 1;
  const toJson = (value: unknown): JsonValue => {
    if (left-- < 0) throw new RangeError('too many nodes');
    if (
      value === null ||
      typeof value === 'string' ||
      typeof value === 'boolean' ||
      Number.isFinite(value)
    )
      return value as JsonValue;
    if (Array.isArray(value)) return value.map(toJson);
    if (value instanceof Date) return value.toISOString();
    // An object of a class, such as a `Map` or a parser's document, has no JSON form.
    if (!isRecord(value) || !isPlain(value)) throw new TypeError('no JSON');
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toJson(inner)]));
  };
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch {
    return undefined;
  }
  if (typeof Object(parsed).then === 'function')
    throw new AgentError('CONFIGURATION', 'yamlMode(): parse must not return a promise.');
  try {
    return toJson(parsed);
  } catch {
    return undefined;
  }
}
