import { startOf } from '../../../message/text.ts';
import type { JsonObject } from '../../../message/json.ts';
import type { ModelDelta, RunInfo } from '../../../model/chat-model.ts';
import { GuardedValue, type ToolInput, mapJson, unescaped } from './guarded-value.ts';
import { throwRejected, type CheckedRule } from './checked-rule.ts';
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
  readonly act: (action: OutputAction) => void;
  /** Whether the text is a value for a program, such as JSON, and not text for a user. */
  readonly isValue: boolean;
  readonly run?: RunInfo | undefined;
}

type Finish = Extract<ModelDelta, { type: 'finish' }>;
type TextDelta = Extract<ModelDelta, { type: 'text' | 'thinking' }>;

/** One text block or thinking block of the reply, which the rules check. */
interface GuardedText {
  readonly type: 'text' | 'thinking';
  readonly id: string;
  readonly windows: readonly RuleWindow[];
  /** The text as the model wrote it. */
  raw: string;
  /** The end of `raw` that the rules have not checked yet. */
  fresh: string;
  /** The text that has been released so far. */
  out: string;
  /** The whole text after the rules changed it. */
  final: string;
  /** Signature from the provider. It is released with the last piece of the text. */
  signature?: string;
  providerMetadata?: JsonObject;
}

export interface ReplyEnding {
  /** Deltas that have not been released yet. */
  readonly deltas: readonly ModelDelta[];
  /** The text of the reply after the rules changed it. */
  readonly text: string;
  /** Question to the model if a rule asks for another reply. */
  readonly question?: string;
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
  #released = 0;
  /** Whether any part of the reply was released. */
  given = false;
  finish: Finish | undefined;

  constructor(options: GuardedReplyOptions) {
    this.#options = options;
    this.#releaseAtMost = Math.min(...options.rules.map(({ releaseAtMost }) => releaseAtMost));
  }

  /** Takes deltas from the model and returns the deltas that may be released. */
  take(batch: readonly ModelDelta[]): ModelDelta[] {
    const out: ModelDelta[] = [];
    for (const delta of batch) {
      if (delta.type === 'finish') this.finish = delta;
      else if (delta.type === 'reset') this.#begin(delta, out);
      else if (delta.type === 'text' || (delta.type === 'thinking' && this.#options.thinking))
        this.#addText(delta, out);
      else {
        const passed = delta.type === 'tool-input' ? this.#hold(delta, out) : [delta];
        this.#kept.push(...passed);
        this.given ||= passed.length > 0;
        out.push(...passed);
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
    const { rules, act, isValue, run } = this.#options;
    const warnings: JsonObject[] = [];
    for (const text of this.#texts) text.final = text.raw;
    const values = [...this.#values.values()].filter(({ isAnswer }) => isAnswer);
    for (const rule of rules) {
      const did = new Set<OutputAction['action']>();
      const noted = (before: string, after: string): string => {
        if (after !== before) did.add('changed');
        return after;
      };
      const masked = (text: string): string => maskedBy(rule, text);
      for (const text of this.#texts)
        text.final = noted(text.final, isValue ? mapJson(text.final, masked) : masked(text.final));
      for (const value of values) value.final = noted(value.final, mapJson(value.final, masked));
      for (const { text, put, ...about } of rule.review ? this.#reviewed(values) : []) {
        const review = await rule.review!(text, { ...about, retries, run });
        if ('retry' in review) {
          act({ rule: rule.name, action: 'retried' });
          return { deltas: [], text, question: review.retry };
        }
        if (review.warning) {
          warnings.push(review.warning);
          did.add('warned');
        }
        if (noted(text, review.text) !== text) put(review.text);
      }
      for (const action of did) act({ rule: rule.name, action });
    }
    if (warnings.length && this.finish)
      this.finish = { ...this.finish, metadata: { ...this.finish.metadata, warnings } };
    return { deltas: this.#rest(), text: this.#text() };
  }

  /** Returns the texts that a rule reviews: the values of tool calls, then the text of the reply. */
  #reviewed(values: readonly GuardedValue[]): readonly Reviewed[] {
    const isValue = this.#options.isValue && !this.#callsTools;
    return [
      ...values.map((value) => ({
        text: value.final,
        callsTools: false,
        isValue: true,
        put: (text: string): void => void (value.final = text),
      })),
      {
        text: this.#text(),
        callsTools: this.#callsTools,
        isValue,
        put: (text) => this.#replace(text),
      },
    ];
  }

  /**
   * Releases a tool call when its name is known. If the arguments of the tool call are the answer,
   * holds the tool call back until the reply ends.
   */
  #hold(delta: ToolInput, out: ModelDelta[]): readonly ModelDelta[] {
    // A reader must get the text in front of a tool call before the tool call.
    if (!this.#callsTools) this.#release(out, true);
    this.#callsTools = true;
    const value = this.#values.get(delta.index) ?? new GuardedValue();
    if (value.name && !value.isAnswer) return [delta];
    this.#values.set(delta.index, value);
    value.add(delta);
    return value.name && !value.isAnswer ? value.release() : [];
  }

  /** Discards the reply so far, because the model begins it again. */
  #begin(reset: ModelDelta, out: ModelDelta[]): void {
    this.#kept = [];
    this.#texts = [];
    this.#values = new Map();
    this.#callsTools = false;
    this.#released = 0;
    this.given = false;
    this.finish = undefined;
    out.push(reset);
  }

  #addText({ type, id, delta, signature, providerMetadata }: TextDelta, out: ModelDelta[]): void {
    let text = this.#texts.find((other) => other.type === type && other.id === id);
    if (!text) {
      this.#release(out, true);
      text = this.#open(type, id);
      // An empty delta keeps the block's place between blocks that are released at once.
      out.push({ type, id, delta: '' });
    }
    text.raw += delta;
    text.fresh += delta;
    if (signature) text.signature = (text.signature ?? '') + signature;
    if (providerMetadata) text.providerMetadata = { ...text.providerMetadata, ...providerMetadata };
  }

  #open(type: GuardedText['type'], id: string): GuardedText {
    const { rules, lookahead } = this.#options;
    const finders = rules.filter(({ find }) => find && lookahead !== 'all');
    const windows = finders.map((rule) => new RuleWindow(rule, lookahead as number));
    const text: GuardedText = { type, id, windows, raw: '', fresh: '', out: '', final: '' };
    this.#texts.push(text);
    this.#kept.push(text);
    return text;
  }

  /** Releases the text that the rules have let pass. With `isEnd`, treats all texts as complete. */
  #release(out: ModelDelta[], isEnd: boolean): void {
    if (this.#options.lookahead === 'all') return;
    for (const text of this.#texts) {
      if (!text.fresh && !isEnd) continue;
      let passed = text.fresh;
      text.fresh = '';
      for (const window of text.windows) passed = window.push(passed, isEnd);
      passed = this.#withinLimit(passed);
      if (passed) {
        text.out += passed;
        this.#released += passed.length;
        this.given = true;
        out.push({ type: text.type, id: text.id, delta: passed });
      }
    }
  }

  /**
   * Cuts the text at `releaseAtMost`. After the cut, no more text is released until the reply ends.
   */
  #withinLimit(passed: string): string {
    const left = this.#releaseAtMost - this.#released;
    if (passed.length <= left) return passed;
    const some = startOf(passed, left);
    this.#released = Infinity;
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
    const fits = this.#texts.every(({ out, final }) => final.startsWith(out));
    const values = [...this.#values.values()].flatMap((value) => value.release());
    if (fits)
      return [
        ...this.#texts.flatMap((text) => lastOf(text, text.final.slice(text.out.length))),
        ...values,
      ];
    const again = this.#kept.flatMap((kept) =>
      'windows' in kept ? lastOf(kept, kept.final) : [kept],
    );
    return [{ type: 'reset', reason: 'guard' }, ...again, ...values];
  }
}

/** A text that a rule reviews. `put` replaces it in the reply. */
interface Reviewed extends Pick<ReviewContext, 'isValue' | 'callsTools'> {
  readonly text: string;
  readonly put: (text: string) => void;
}

/** Replaces what a rule finds in a text, also behind `\u` escapes. */
function maskedBy(rule: CheckedRule, given: string): string {
  const found = (text: string): readonly Finding[] => {
    const findings = rule.find?.(text) ?? [];
    for (const finding of findings) throwRejected(rule, finding);
    return findings;
  };
  const text = replaceFindings(given, found(given));
  const read = rule.find && unescaped(text);
  return read ? replaceFindings(text, found(read.text).map(read.place)) : text;
}

/**
 * Returns the last delta of a text. If the rules changed the text, leaves out the signature and the
 * provider metadata: they are valid for the provider's own text only.
 */
function lastOf(
  { type, id, raw, final, signature, providerMetadata }: GuardedText,
  delta: string,
): readonly ModelDelta[] {
  const isItsOwn = raw === final;
  const ties = {
    ...(isItsOwn && signature && { signature }),
    ...(isItsOwn && providerMetadata && { providerMetadata }),
  };
  return delta || Object.keys(ties).length ? [{ type, id, delta, ...ties }] : [];
}
