import type { ModelDelta } from '../model/chat-model.ts';
import {
  addExtras,
  type BlockExtras,
  type FinishDelta,
  type TextDelta,
} from '../model/reply/deltas.ts';
import type { ParsedReply } from './parsed-reply.ts';
import { ReplyReader } from './reply-reader.ts';

/**
 * Metadata that marks a trusted tool call: the model wants the tool's result to be the answer. The
 * log stores the metadata with the tool call.
 */
const trustMark = { providerMetadata: { textProtocol: { returnDirect: true } } } as const;

/** Converts the text of one reply into deltas of text, thinking and tool calls. */
export class TextReply {
  readonly #withholdsAll: boolean;
  readonly reader: ReplyReader;
  /** Deltas other than text that were sent. */
  #others: ModelDelta[] = [];
  /** Text that was sent. */
  #sent = '';
  /** All text of the model, with thinking. */
  #raw = '';
  #resetCount = 0;
  #lastId: string | undefined;
  #extras: BlockExtras = {};
  #thinking = '';
  /** Whether the provider itself returned tool calls. */
  callsNatively = false;
  finish: FinishDelta | undefined;

  /**
   * `mayCallTools`: whether the reply may contain tool calls. `withholdsAll`: whether to withhold
   * all text until the end of the reply. `dropsTextBefore`: see `ReplyReader`.
   */
  constructor(mayCallTools: boolean, withholdsAll: boolean, dropsTextBefore: boolean) {
    this.#withholdsAll = withholdsAll;
    this.reader = new ReplyReader(mayCallTools, dropsTextBefore);
  }

  /**
   * Text without thinking. If all text is withheld until the end of the reply, the white space
   * after it is removed with the thinking.
   */
  get text(): string {
    const { text } = this.reader;
    return this.#withholdsAll && text !== this.#raw ? text.trimEnd() : text;
  }

  get thinking(): string {
    return this.#thinking + this.reader.thinking;
  }

  /** Reads a delta of the model, and adds the deltas to send now to `out`. */
  take(delta: ModelDelta, out: ModelDelta[]): void {
    if (delta.type === 'text') this.#takeText(delta, out);
    else if (delta.type === 'finish') this.finish = delta;
    else {
      this.callsNatively ||= delta.type === 'tool-input';
      if (delta.type === 'thinking') this.#thinking += delta.delta;
      this.#sendOther(delta, out);
    }
  }

  /** Ends the text. Returns the deltas to send now. */
  end(): readonly ModelDelta[] {
    const out: ModelDelta[] = [];
    this.#send(this.reader.end(), out);
    return out;
  }

  /** Returns the remaining deltas, so that all sent deltas together match the parsed reply. */
  complete(reply: ParsedReply): readonly ModelDelta[] {
    const out: ModelDelta[] = [];
    const calls = reply.type === 'calls' ? reply.calls : [];
    const think = calls.flatMap((call) => call.think ?? []).join('\n');
    if (think) this.#sendOther({ type: 'thinking', id: 'think', delta: think }, out);
    const text = reply.type === 'invalid' ? '' : (reply.text ?? '');
    if (!text.startsWith(this.#sent)) this.#takeBack(out);
    const delta = text.slice(this.#sent.length);
    const extras = text && text === this.#raw ? this.#extras : {};
    if (delta || Object.keys(extras).length)
      out.push({ type: 'text', id: 'text', delta, ...extras });
    for (const [index, { name, returnDirect, arguments: input }] of calls.entries()) {
      const json = JSON.stringify(input) ?? '';
      out.push({ type: 'tool-input', index, name, delta: json, ...(returnDirect && trustMark) });
    }
    return out;
  }

  #takeText(delta: TextDelta, out: ModelDelta[]): void {
    // Joins text blocks with a line break, as `textOf` does.
    const isNext = this.#lastId !== undefined && this.#lastId !== delta.id && this.reader.text;
    const text = isNext ? `\n${delta.delta}` : delta.delta;
    this.#lastId = delta.id;
    this.#raw += text;
    addExtras(this.#extras, delta);
    this.#send(this.reader.push(text), out);
  }

  #send(deltas: readonly ModelDelta[], out: ModelDelta[]): void {
    for (const delta of deltas) {
      if (delta.type === 'reset') {
        this.#resetCount += 1;
        if (this.#sent) this.#takeBack(out);
      } else if (delta.type !== 'text') this.#sendOther(delta, out);
      // Withholds text after the second reset, so that resets cannot repeat without end.
      else if (!this.#withholdsAll && this.#resetCount < 2) {
        this.#sent += delta.delta;
        out.push(delta);
      }
    }
  }

  #sendOther(delta: ModelDelta, out: ModelDelta[]): void {
    this.#others.push(delta);
    out.push(delta);
  }

  #takeBack(out: ModelDelta[]): void {
    this.#sent = '';
    out.push({ type: 'reset', reason: 'protocol' }, ...this.#others);
  }
}
