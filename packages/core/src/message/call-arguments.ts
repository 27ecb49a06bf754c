import { isObjectOrArray, parseJson, type JsonValue } from './json.ts';
import type { ToolUse } from './msg.ts';

/**
 * Returns the arguments of a tool call from their text. `raw` is absent if it would tell nothing
 * more. An empty text means a call without arguments.
 */
export function argumentsIn(text: string): Pick<ToolUse, 'input' | 'raw'> {
  const input = text.trim() ? parseArguments(text) : {};
  const isSame = !text || text === JSON.stringify(input);
  return { input: input ?? null, ...(!isSame && { raw: text }) };
}

/** Returns the arguments of a call as text, as the model wrote them. */
export function argumentsOf({ input, raw }: ToolUse): string {
  return raw ?? JSON.stringify(input);
}

/**
 * Parses JSON that a model wrote. An integer that a number would round becomes a string with its
 * digits. Ids are often longer than the 53 bits of a number. Returns `undefined` if the text is not
 * JSON.
 */
export function parseArguments(text: string): JsonValue | undefined {
  const value = parseJson(text);
  // The first test is all that most arguments cost.
  return value !== undefined && longNumber.test(text)
    ? parseJson(text.replace(token, (found) => (isRounded(found) ? `"${found}"` : found)))
    : value;
}

/** An integer that `parseArguments` made a string of. */
export interface LongInteger {
  readonly path: readonly string[];
  readonly digits: string;
}

/** Returns the integers in the arguments of a call that the model did not write as strings. */
export function longIntegersIn({ input, raw = '' }: ToolUse): readonly LongInteger[] {
  return longNumber.test(raw) ? stringsForNumbers(parseJson(raw), input, []) : [];
}

function stringsForNumbers(
  rounded: unknown,
  exact: unknown,
  path: readonly string[],
): readonly LongInteger[] {
  if (typeof rounded === 'number' && typeof exact === 'string') return [{ path, digits: exact }];
  if (!isObjectOrArray(rounded) || !isObjectOrArray(exact)) return [];
  return Object.keys(exact).flatMap((key) =>
    stringsForNumbers(rounded[key], exact[key], [...path, key]),
  );
}

const longNumber = /[1-9]\d{15}/;
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

function isRounded(found: string): boolean {
  return /^-?[1-9]\d{15,}$/.test(found) && String(Number(found)) !== found;
}
