import type { AgentError, JsonObject, ModelDelta } from '@isoloop/core';
import { startOf } from '@isoloop/core/message';
import type { RunInfo, TextDelta } from '@isoloop/core/model';
import type { TokenProfile } from '@isoloop/core/tokens';
import { applyRule } from './apply-rule.ts';
import { RuleRejection, type CheckedRule } from './checked-rule.ts';
import { GuardedText, GuardedValue, type GuardedPart, type ToolInput } from './guarded-parts.ts';
import type { OutputAction, ReviewContext } from './output-rule.ts';
import { RuleWindow } from './rule-window.ts';

/** The rules and settings for the replies of one run. */
export interface ReplyGuards {
  readonly rules: readonly CheckedRule[];
  readonly lookahead: number | 'all';
  readonly thinking: boolean;
  readonly profile: TokenProfile;
  /** Absent if the model was asked outside a run. */
  readonly run: RunInfo | undefined;
  onAction(action: OutputAction): void;
  errorOf(rejection: RuleRejection): AgentError;
}

/** Facts about one reply. */
interface GuardedReplyOptions {
  /** Whether the text is for a program, such as JSON, and not for a user. */
  readonly isForProgram: boolean;
  /** Default: that of the guards. */
  readonly lookahead?: number | 'all';
}

/** A text that rules review: the arguments of a tool call, or the text of the reply. */
interface ReviewedText extends Pick<ReviewContext, 'callsTools' | 'isForProgram'> {
  readonly text: string;
  /** Puts a changed text in its place. */
  readonly replace: (text: string) => void;
}

interface ReplyEnding {
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
  readonly #guards: ReplyGuards;
  readonly #isForProgram: boolean;
  readonly #lookahead: number | 'all';
  readonly #releaseAtMost: number;
  /** The texts and the released deltas of the reply, in order. */
  #pieces: Pick<GuardedText, 'whole'>[] = [];
  #texts: GuardedText[] = [];
  /** Withheld tool calls, by their index in the reply. */
  #values: Map<number, GuardedValue> = new Map();
  #callsTools = false;
  readonly #warnings: JsonObject[] = [];
  /** Length of the released text. Infinite after `releaseAtMost`. */
  #releasedLength = 0;
  /** Whether any part of the reply was released. */
  isReleased = false;
  finish: Extract<ModelDelta, { type: 'finish' }> | undefined;

  constructor(
    guards: ReplyGuards,
    { isForProgram, lookahead = guards.lookahead }: GuardedReplyOptions,
  ) {
    this.#guards = guards;
    this.#isForProgram = isForProgram;
    this.#lookahead = lookahead;
    this.#releaseAtMost = Math.min(...guards.rules.map(({ releaseAtMost }) => releaseAtMost));
  }

  /** Takes deltas from the model and returns the deltas that may be released. */
  take(batch: readonly ModelDelta[]): readonly ModelDelta[] {
    const out: ModelDelta[] = [];
    for (const delta of batch) {
      if (delta.type === 'finish') this.finish = delta;
      else if (delta.type === 'text' || (delta.type === 'thinking' && this.#guards.thinking))
        this.#addText(delta, out);
      else {
        const released = delta.type === 'tool-input' ? this.#addToolInput(delta, out) : [delta];
        this.#pieces.push({ whole: () => released });
        this.isReleased ||= released.length > 0;
        out.push(...released);
      }
    }
    this.#release(out, false);
    return out;
  }

  /** Checks the whole reply after its end. `mayRetry`: see `ReviewContext`. */
  async end(mayRetry: boolean): Promise<ReplyEnding> {
    const { rules, run } = this.#guards;
    const values = [...this.#values.values()].filter(({ isAnswer }) => isAnswer);
    const parts: readonly GuardedPart[] = [...this.#texts, ...values];
    for (const rule of rules) {
      const actions = new Set<OutputAction['action']>();
      for (const part of parts) {
        const text = applyRule(rule, part.final, part.isJson);
        if (text !== part.final) actions.add('changed');
        part.final = text;
      }
      for (const { text, replace, ...facts } of rule.review ? this.#reviewedTexts(values) : []) {
        const review = await rule.review!(text, { ...facts, mayRetry, run });
        if ('retry' in review) {
          this.#guards.onAction({ rule: rule.name, action: 'retried' });
          return { deltas: [], text, correction: review.retry };
        }
        if (review.warning) {
          this.#addWarning(review.warning);
          actions.add('warned');
        }
        if (review.text !== text) {
          replace(review.text);
          actions.add('changed');
        }
      }
      for (const action of actions) this.#guards.onAction({ rule: rule.name, action });
    }
    return { deltas: this.#rest(), text: this.#text() };
  }

  /** Returns each structured value, and the text of the whole reply. */
  #reviewedTexts(values: readonly GuardedValue[]): readonly ReviewedText[] {
    const callsTools = this.#callsTools;
    const valueTexts = values.map((value): ReviewedText => ({
      text: value.final,
      callsTools: false,
      isForProgram: true,
      replace: (text) => (value.final = text),
    }));
    const replyText: ReviewedText = {
      text: this.#text(),
      callsTools,
      isForProgram: this.#isForProgram && !callsTools,
      replace: (text) => this.#replace(text),
    };
    return [...valueTexts, replyText];
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
    return value.name && !value.isAnswer ? value.rest() : [];
  }

  #addText(delta: TextDelta, out: ModelDelta[]): void {
    const { type, id } = delta;
    let text = this.#texts.find((other) => other.type === type && other.id === id);
    if (!text) {
      this.#release(out, true);
      text = this.#open({ type, id });
      // An empty delta keeps the block's place between blocks that are released at once.
      out.push({ type, id, delta: '' });
    }
    text.add(delta);
  }

  #open(block: Pick<TextDelta, 'type' | 'id'>): GuardedText {
    const lookahead = this.#lookahead;
    const finders = this.#guards.rules.filter(({ find }) => find && lookahead !== 'all');
    const windows = finders.map((rule) => new RuleWindow(rule, lookahead as number));
    const text = new GuardedText(block, this.#isForProgram, windows);
    this.#texts.push(text);
    this.#pieces.push(text);
    return text;
  }

  /** Releases the text that the rules have let pass. With `isEnd`, treats all texts as complete. */
  #release(out: ModelDelta[], isEnd: boolean): void {
    if (this.#lookahead === 'all') return;
    for (const text of this.#texts) {
      const passed = this.#withinLimit(text.pass(isEnd));
      if (!passed) continue;
      this.#releasedLength += passed.length;
      this.isReleased = true;
      out.push(text.release(passed));
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
    (texts[0] ?? this.#open({ type: 'text', id: 'guard' })).final = final;
  }

  /**
   * Returns the deltas that have not been released yet. If released text has to change, returns a
   * reset and the whole reply.
   */
  #rest(): readonly ModelDelta[] {
    const restOf = (part: GuardedPart): readonly ModelDelta[] => part.rest();
    const values = [...this.#values.values()].flatMap(restOf);
    if (this.#texts.every(({ isContinued }) => isContinued))
      return [...this.#texts.flatMap(restOf), ...values];
    return [guardReset, ...this.#pieces.flatMap((piece) => piece.whole()), ...values];
  }
}

/** Tells readers to discard the reply so far. */
export const guardReset: ModelDelta = { type: 'reset', reason: 'guard' };

/**
 * Tells the listener that a rule rejected a reply, and returns the error of the reply. Returns any
 * other exception unchanged.
 */
export function reportRejection(thrown: unknown, guards: ReplyGuards): unknown {
  if (!(thrown instanceof RuleRejection)) return thrown;
  guards.onAction({ rule: thrown.rule, action: 'rejected' });
  return guards.errorOf(thrown);
}
