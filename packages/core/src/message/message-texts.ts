import { isSameJson, isObjectOrArray, type JsonValue } from './json.ts';
import type { ToolUse, Msg } from './msg.ts';

/**
 * Returns every text of the messages that a model may read. This includes names and arguments of
 * tool calls, tool results, names of speakers, and names and media types of files.
 */
export function textsOf(messages: readonly Msg[]): readonly string[] {
  const texts: string[] = [];
  mapTexts(messages, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/**
 * Applies `change` to each text that `textsOf` returns. A message without changes stays the same
 * object.
 */
export function mapTexts(
  messages: readonly Msg[],
  change: (text: string) => string,
): readonly Msg[] {
  return messages.map((message) => mapFieldTexts(message, change));
}

type Change = (text: string) => string;

/** Fields with texts that a model may read. A model without a medium reads its name and type. */
const textFields = /^(text|thinking|name|mediaType|raw|output)$/;
/** Fields with objects that have such fields. */
const partFields = /^(content|source|output)$/;

/** Returns a copy with changed texts, or the same object if no text changes. */
function mapFieldTexts<T extends object>(source: T, change: Change): T {
  const entries = Object.entries(source) as readonly (readonly [string, JsonValue])[];
  const changes = entries
    .map(([key, value]) => [key, mapField(key, value, change)] as const)
    .filter(([key, value]) => value !== source[key as keyof T]);
  if (!changes.length) return source;
  const { raw, ...rest } = { ...source, ...Object.fromEntries(changes) } as T & Partial<ToolUse>;
  // The raw arguments may say more than the parsed ones, for example a field twice.
  return (raw !== undefined && rest.input === null ? { ...rest, raw } : rest) as T;
}

function mapField(key: string, value: JsonValue, change: Change): unknown {
  if (key === 'input') {
    const input = mapStrings(value, change);
    return isSameJson(input, value) ? value : input;
  }
  if (!isObjectOrArray(value))
    return textFields.test(key) && value !== undefined ? change(value as string) : value;
  if (!partFields.test(key)) return value;
  if (!Array.isArray(value)) return mapFieldTexts(value, change);
  const items = value.map((item: object) => mapFieldTexts(item, change));
  return items.some((item, index) => item !== value[index]) ? items : value;
}

/**
 * Returns a copy of a value in which `change` was applied to each string, number and field name. A
 * number that changes becomes a string.
 */
export function mapStrings(value: JsonValue, change: Change): JsonValue {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') {
    const text = change(String(value));
    return text === String(value) ? value : text;
  }
  if (!isObjectOrArray(value)) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapStrings(item, change));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [change(key), mapStrings(one as JsonValue, change)]),
  );
}
