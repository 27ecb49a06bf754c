import { parseJson, type JsonObject } from '../../../message/json.ts';
import type { ModelDelta } from '../../../model/chat-model.ts';
import { outputToolName } from '../../../schema/output-format.ts';
import type { Finding } from './output-rule.ts';

export type ToolInput = Extract<ModelDelta, { type: 'tool-input' }>;

/**
 * A withheld tool call, because its arguments are the answer or its name is not known yet.
 */
export class GuardedValue {
  #deltas: ToolInput[] = [];
  name: string | undefined;
  /** The arguments of the tool call as the model wrote them. */
  raw = '';
  /** The arguments after the rules changed them. */
  final = '';

  add(delta: ToolInput): void {
    this.#deltas.push(delta);
    this.name ||= delta.name;
    this.final = this.raw += delta.delta;
  }

  /**
   * Whether the arguments of the tool call are the answer. Such a tool call is withheld until the
   * reply ends.
   */
  get isAnswer(): boolean {
    return this.name === outputToolName;
  }

  /**
   * Returns the withheld deltas, and clears them. If the rules changed the arguments,
   * returns them as one delta.
   */
  release(): readonly ToolInput[] {
    const deltas = this.#deltas;
    this.#deltas = [];
    const [first] = deltas;
    if (!first || this.final === this.raw) return deltas;
    const providerMetadata = deltas.reduce<JsonObject | undefined>(
      (all, delta) => (delta.providerMetadata ? { ...all, ...delta.providerMetadata } : all),
      undefined,
    );
    const changed = { ...first, name: this.name!, delta: this.final };
    return [{ ...changed, ...(providerMetadata && { providerMetadata }) }];
  }
}

/**
 * Applies `change` to each string and each number of a JSON text. Applies `change` to the whole
 * text if the text is not valid JSON. A number that changes becomes a string.
 */
export function mapJson(json: string, change: (text: string) => string): string {
  if (parseJson(json) === undefined) return change(json);
  const pieces: string[] = [];
  for (let at = 0; at < json.length;) {
    const end = endOfToken(json, at);
    const token = json.slice(at, end);
    const text = token[0] === '"' ? (JSON.parse(token) as string) : token;
    const changed = /^["\-\d]/.test(token) ? change(text) : text;
    pieces.push(changed === text ? token : JSON.stringify(changed));
    at = end;
  }
  return pieces.join('');
}

/**
 * Returns the index after the token that begins at `at`. A loop scans the token: a regular
 * expression would store a backtracking point for each character of a string.
 */
function endOfToken(json: string, at: number): number {
  let end = at + 1;
  if (json[at] === '"') {
    while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
    return end + 1;
  }
  const isNumber = isNumeral(json[at]!);
  while (end < json.length && json[end] !== '"' && isNumeral(json[end]!) === isNumber) end++;
  return end;
}

/** Returns whether the character can be part of a number. */
function isNumeral(char: string): boolean {
  return (char >= '0' && char <= '9') || '+-.eE'.includes(char);
}

/** A text with its `\uXXXX` escapes decoded, as a JSON or YAML parser reads it. */
interface Unescaped {
  readonly text: string;
  /** Returns the finding with its indexes in the original text. */
  place(finding: Finding): Finding;
}

/** Decodes the escapes of a text. Returns `undefined` for a text without escapes. */
export function unescaped(raw: string): Unescaped | undefined {
  const places: number[] = [];
  const pieces: string[] = [];
  let from = 0;
  for (const { index, 0: escape, 1: code } of raw.matchAll(/\\u([\da-f]{4})/gi)) {
    pieces.push(raw.slice(from, index), String.fromCharCode(Number.parseInt(code!, 16)));
    for (let at = from; at <= index; at++) places.push(at);
    from = index + escape.length;
  }
  if (!pieces.length) return undefined;
  pieces.push(raw.slice(from));
  for (let at = from; at <= raw.length; at++) places.push(at);
  return {
    text: pieces.join(''),
    place: (finding) => ({ ...finding, start: places[finding.start]!, end: places[finding.end]! }),
  };
}
