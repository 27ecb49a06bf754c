import { parseJson } from '../../../message/json.ts';
import type { ModelDelta } from '../../../model/chat-model.ts';
import { addAttached } from '../../../model/deltas.ts';
import { outputToolName } from '../../../schema/output-format.ts';
import { rewriteText, type RewrittenText } from '../rewritten-text.ts';

export type ToolInput = Extract<ModelDelta, { type: 'tool-input' }>;

/** A withheld tool call: its arguments are the answer, or its name is not known yet. */
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
    const [first, ...others] = deltas;
    if (!first || this.final === this.raw) return deltas;
    const changed = { ...first, name: this.name!, delta: this.final };
    for (const delta of others) addAttached(changed, delta);
    return [changed];
  }
}

/**
 * Applies `change` to each string and each number of a JSON text. Applies `change` to the whole
 * text if the text is not valid JSON. A number that changes becomes a string.
 */
export function mapJson(json: string, change: (text: string) => string): string {
  if (parseJson(json) === undefined) return change(json);
  return json.replace(stringOrNumber, (token) => {
    const text = token.startsWith('"') ? (JSON.parse(token) as string) : token;
    const changed = change(text);
    return changed === text ? token : JSON.stringify(changed);
  });
}

/** Repeats no alternatives, because V8 would store a backtracking point for each character. */
const stringOrNumber = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Decodes the `\uXXXX` escapes of a text, as a JSON or YAML parser reads it. */
export function unescaped(raw: string): RewrittenText {
  return rewriteText(raw, /\\u[\da-f]{4}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(2), 16)),
  );
}
