import { startOf } from '../../../message/text.ts';
import { parseJson, type JsonObject } from '../../../message/json.ts';
import type { ModelDelta, RunInfo } from '../../../model/chat-model.ts';
import {
  addExtras,
  type BlockExtras,
  type FinishDelta,
  type TextDelta,
} from '../../../model/deltas.ts';
import { outputToolName } from '../../../schema/output-format.ts';
import { rewriteText, type RewrittenText } from '../rewritten-text.ts';
import { replacementOf, type CheckedRule } from './checked-rule.ts';
import {
  replaceFindings,
  type Finding,
  type OutputAction,
  type ReviewContext,
} from './output-rule.ts';
import { RuleWindow } from './rule-window.ts';

export interface GuardedReplyOptions {
  readonly rules: readonly CheckedRule[];
  readonly lookahead: number | 'all';
  readonly thinking: boolean;
  readonly onAction: (action: OutputAction) => void;
  /** Whether the text is for a program, such as JSON, and not for a user. */
  readonly isForProgram: boolean;
  readonly run?: RunInfo | undefined;
}

/** One text block or thinking block of the reply, which the rules check. */
interface GuardedText {
  readonly type: 'text' | 'thinking';
  readonly id: string;
  readonly windows: readonly RuleWindow[];
  /** The text as the model wrote it. */
  raw: string;
  /** The end of `raw` that the rules have not checked yet. */
  unchecked: string;
  /** The text that has been released so far. */
  released: string;
  /** The whole text after the rules changed it. */
  final: string;
  /** What the provider added to the text. It is released with the last piece of the text. */
  readonly extras: BlockExtras;
}

/** A text that rules review: the arguments of a tool call, or the text of the reply. */
interface ReviewedText extends Pick<ReviewContext, 'callsTools' | 'isForProgram'> {
  readonly text: string;
  /** Puts a changed text in its place. */
  readonly replace: (text: string) => void;
}

export interface ReplyEnding {
  /** Deltas that have not been released yet. */
  readonly deltas: readonly ModelDelta[];
  /** The text of the reply after the rules changed it. */
  readonly text: string;
  /** Message to the model if a rule asks for another reply. */
  readonly correction?: string;
}

/**
 * Applies the rules to one reply of the model. The methods throw a `RuleRejection` if a rule
 * rejects the reply.
 */
export class GuardedReply {
  readonly #options: GuardedReplyOptions;
  readonly #releaseAtMost: number;
  /** All deltas and texts of the reply, in order. */
  #kept: (ModelDelta | GuardedText)[] = [];
  #texts: GuardedText[] = [];
  /** Withheld tool calls, by their index in the reply. */
  #values: Map<number, GuardedValue> = new Map();
  #callsTools = false;
  readonly #warnings: JsonObject[] = [];
  /** Length of the released text. Infinite after `releaseAtMost`. */
  #releasedLength = 0;
  /** Whether any part of the reply was released. */
  isReleased = false;
  finish: FinishDelta | undefined;

  constructor(options: GuardedReplyOptions) {
    this.#options = options;
    this.#releaseAtMost = Math.min(...options.rules.map(({ releaseAtMost }) => releaseAtMost));
  }

  /** Takes deltas from the model and returns the deltas that may be released. */
  take(batch: readonly ModelDelta[]): readonly ModelDelta[] {
    const out: ModelDelta[] = [];
    for (const delta of batch) {
      if (delta.type === 'finish') this.finish = delta;
      else if (delta.type === 'text' || (delta.type === 'thinking' && this.#options.thinking))
        this.#addText(delta, out);
      else {
        const released = delta.type === 'tool-input' ? this.#addToolInput(delta, out) : [delta];
        this.#kept.push(...released);
        this.isReleased ||= released.length > 0;
        out.push(...released);
      }
    }
    this.#release(out, false);
    return out;
  }

  /**
   * Checks the whole reply after its end. `retries` is the number of times the model was asked
   * again.
   */
  async end(retries: number): Promise<ReplyEnding> {
    const { rules, onAction, isForProgram, run } = this.#options;
    for (const text of this.#texts) text.final = text.raw;
    const values = [...this.#values.values()].filter(({ isAnswer }) => isAnswer);
    for (const rule of rules) {
      const actions = new Set<OutputAction['action']>();
      const noteChange = (text: string, changedText: string): string => {
        if (changedText !== text) actions.add('changed');
        return changedText;
      };
      for (const part of [...this.#texts, ...values]) {
        const isJson = isForProgram || part instanceof GuardedValue;
        part.final = noteChange(part.final, maskedBy(rule, part.final, isJson));
      }
      const reviewedTexts = [...values.map((value) => value.reviewedText()), this.#reviewedText()];
      for (const { text, replace, ...facts } of rule.review ? reviewedTexts : []) {
        const review = await rule.review!(text, { ...facts, retries, run });
        if ('retry' in review) {
          onAction({ rule: rule.name, action: 'retried' });
          return { deltas: [], text, correction: review.retry };
        }
        if (review.warning) {
          this.#addWarning(review.warning);
          actions.add('warned');
        }
        if (noteChange(text, review.text) !== text) replace(review.text);
      }
      for (const action of actions) onAction({ rule: rule.name, action });
    }
    return { deltas: this.#rest(), text: this.#text() };
  }

  /** Returns the text of the whole reply, for a review. */
  #reviewedText(): ReviewedText {
    const callsTools = this.#callsTools;
    const isForProgram = this.#options.isForProgram && !callsTools;
    const replace = (text: string): void => this.#replace(text);
    return { text: this.#text(), callsTools, isForProgram, replace };
  }

  #addWarning(warning: JsonObject): void {
    this.#warnings.push(warning);
    const metadata = { ...this.finish?.metadata, warnings: this.#warnings };
    if (this.finish) this.finish = { ...this.finish, metadata };
  }

  /**
   * Releases a tool call when its name is known. If the arguments of the tool call are the answer,
   * withholds the tool call until the reply ends.
   */
  #addToolInput(delta: ToolInput, out: ModelDelta[]): readonly ModelDelta[] {
    // A reader must get the text in front of a tool call before the tool call.
    if (!this.#callsTools) this.#release(out, true);
    this.#callsTools = true;
    const value = this.#values.get(delta.index) ?? new GuardedValue();
    if (value.name && !value.isAnswer) return [delta];
    this.#values.set(delta.index, value);
    value.add(delta);
    return value.name && !value.isAnswer ? value.release() : [];
  }

  #addText(delta: TextDelta, out: ModelDelta[]): void {
    const { type, id } = delta;
    let text = this.#texts.find((other) => other.type === type && other.id === id);
    if (!text) {
      this.#release(out, true);
      text = this.#open(type, id);
      // An empty delta keeps the block's place between blocks that are released at once.
      out.push({ type, id, delta: '' });
    }
    text.raw += delta.delta;
    text.unchecked += delta.delta;
    addExtras(text.extras, delta);
  }

  #open(type: GuardedText['type'], id: string): GuardedText {
    const { rules, lookahead } = this.#options;
    const finders = rules.filter(({ find }) => find && lookahead !== 'all');
    const windows = finders.map((rule) => new RuleWindow(rule, lookahead as number));
    const empty = { raw: '', unchecked: '', released: '', final: '' };
    const text: GuardedText = { type, id, windows, ...empty, extras: {} };
    this.#texts.push(text);
    this.#kept.push(text);
    return text;
  }

  /** Releases the text that the rules have let pass. With `isEnd`, treats all texts as complete. */
  #release(out: ModelDelta[], isEnd: boolean): void {
    if (this.#options.lookahead === 'all') return;
    for (const text of this.#texts) {
      if (!text.unchecked && !isEnd) continue;
      let passed = text.unchecked;
      text.unchecked = '';
      for (const window of text.windows) passed = window.push(passed, isEnd);
      passed = this.#withinLimit(passed);
      if (passed) {
        text.released += passed;
        this.#releasedLength += passed.length;
        this.isReleased = true;
        out.push({ type: text.type, id: text.id, delta: passed });
      }
    }
  }

  /**
   * Shortens the text to `releaseAtMost`. Then no more text is released until the reply ends.
   */
  #withinLimit(passed: string): string {
    const remaining = this.#releaseAtMost - this.#releasedLength;
    if (passed.length <= remaining) return passed;
    const some = startOf(passed, remaining);
    this.#releasedLength = Infinity;
    return some;
  }

  #text(): string {
    return this.#texts.flatMap(({ type, final }) => (type === 'text' ? [final] : [])).join('\n');
  }

  #replace(final: string): void {
    const texts = this.#texts.filter(({ type }) => type === 'text');
    for (const text of texts) text.final = '';
    (texts[0] ?? this.#open('text', 'guard')).final = final;
  }

  /**
   * Returns the deltas that have not been released yet. If released text has to change, returns a
   * reset and the whole reply.
   */
  #rest(): readonly ModelDelta[] {
    const values = [...this.#values.values()].flatMap((value) => value.release());
    if (this.#texts.every(({ released, final }) => final.startsWith(released)))
      return [...this.#texts.flatMap((text) => restOf(text, text.released.length)), ...values];
    const keptValues = this.#kept.flatMap((piece) =>
      'windows' in piece ? restOf(piece, 0) : [piece],
    );
    return [guardReset, ...keptValues, ...values];
  }
}

/**
 * Replaces what a rule finds in a text, also behind `\u` escapes. Searches each string and number
 * of JSON on its own.
 */
function maskedBy(rule: CheckedRule, original: string, isJson: boolean): string {
  if (!rule.find) return original;
  if (isJson) return mapJson(original, (text) => maskedBy(rule, text, false));
  const findingsIn = (text: string): readonly Finding[] =>
    rule.find!(text).map((finding) => ({ ...finding, replacement: replacementOf(rule, finding) }));
  const text = replaceFindings(original, findingsIn(original));
  const reading = decodeEscapes(text);
  if (reading.text === text) return text;
  const findings = findingsIn(reading.text).map((finding) => ({
    ...finding,
    start: reading.start(finding.start),
    end: reading.start(finding.end),
  }));
  return replaceFindings(text, findings);
}

/**
 * Returns the last delta of a text, from an index. If the rules changed the text, leaves out what
 * the provider added: it is valid for the provider's own text only.
 */
function restOf(
  { type, id, raw, final, extras }: GuardedText,
  start: number,
): readonly ModelDelta[] {
  const delta = final.slice(start);
  const added = raw === final ? extras : {};
  return delta || Object.keys(added).length ? [{ type, id, delta, ...added }] : [];
}

/** Tells readers to discard the reply so far. */
export const guardReset: ModelDelta = { type: 'reset', reason: 'guard' };

type ToolInput = Extract<ModelDelta, { type: 'tool-input' }>;

/** A withheld tool call: its arguments are the answer, or its name is not known yet. */
class GuardedValue {
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

  /** Returns the arguments, for a review. */
  reviewedText(): ReviewedText {
    const replace = (text: string): void => void (this.final = text);
    return { text: this.final, callsTools: false, isForProgram: true, replace };
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
    for (const delta of others) addExtras(changed, delta);
    return [changed];
  }
}

/**
 * Applies `change` to each string and each number of a JSON text. Applies `change` to the whole
 * text if the text is not valid JSON. A number that changes becomes a string.
 */
function mapJson(json: string, change: (text: string) => string): string {
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
function decodeEscapes(raw: string): RewrittenText {
  return rewriteText(raw, /\\u[\da-f]{4}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(2), 16)),
  );
}
