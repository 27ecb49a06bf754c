import type { JsonObject } from '../../message/json.ts';
import { parseJson } from '../../message/parse-json.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import { outputToolName } from '../../output/output-tool.ts';

export type ToolInput = Extract<ModelDelta, { type: 'tool-input' }>;

/** A tool call that is held back, because its arguments are the answer or it has no name yet. */
export class GuardedValue {
  #deltas: ToolInput[] = [];
  name: string | undefined;
  /** The arguments as the model wrote them. */
  raw = '';
  /** The arguments after the rules. */
  final = '';

  add(delta: ToolInput): void {
    this.#deltas.push(delta);
    this.name ||= delta.name;
    this.final = this.raw += delta.delta;
  }

  /** Whether the call's arguments are the answer. Such a call is held back until the reply ends. */
  get isAnswer(): boolean {
    return this.name === outputToolName;
  }

  /** Returns the held deltas and clears them. Changed arguments come as one delta. */
  release(): readonly ToolInput[] {
    const deltas = this.#deltas;
    this.#deltas = [];
    const [first] = deltas;
    if (!first || this.final === this.raw) return deltas;
    const providerMetadata = deltas.reduce<JsonObject | undefined>(
      (all, delta) => (delta.providerMetadata ? { ...all, ...delta.providerMetadata } : all),
      undefined,
    );
    return [
      {
        ...first,
        name: this.name!,
        delta: this.final,
        ...(providerMetadata && { providerMetadata }),
      },
    ];
  }
}

/**
 * Applies `change` separately to each string and number of a JSON text. Text that is not JSON is
 * changed as a whole. A changed number becomes a string.
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
 * Returns the index after the token. Scans by hand: a regular expression stores a backtracking
 * point for each character of a string.
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

/** Returns whether a number can contain the character. */
function isNumeral(char: string): boolean {
  return (char >= '0' && char <= '9') || '+-.eE'.includes(char);
}
