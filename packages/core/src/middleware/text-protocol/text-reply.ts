import type { JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import type { Scan } from './call-scanner.ts';
import type { ParsedReply } from './parsed-reply.ts';
import { ReplyReader, type TextPiece } from './parse-tool-calls.ts';
import { trustMark } from './trusted-calls.ts';

type TextDelta = Extract<ModelDelta, { type: 'text' | 'thinking' }>;
type Finish = Extract<ModelDelta, { type: 'finish' }>;

export interface TextReplyOptions {
  /** Whether the reply may contain tool calls. */
  readonly scans: boolean;
  /** Whether to withhold all text until the end of the reply. */
  readonly withholdsAll: boolean;
}

const block = 'text';

/** Converts the text of one reply into deltas of text, thinking and tool calls. */
export class TextReply {
  readonly #options: TextReplyOptions;
  #reader: ReplyReader;
  /** Deltas other than text that were sent. */
  #passed: ModelDelta[] = [];
  /** Text that was sent. */
  #given = '';
  #raw = '';
  #retracted = 0;
  #lastId: string | undefined;
  #ties: { signature?: string; providerMetadata?: JsonObject } = {};
  #thoughts = '';
  /** Text so far without possible tool calls, whether sent or not. */
  #words = '';
  /** Whether the provider itself returned tool calls. */
  callsNatively = false;
  hasMedia = false;
  finish: Finish | undefined;

  constructor(options: TextReplyOptions) {
    this.#options = options;
    this.#reader = new ReplyReader(options.scans);
  }

  /**
   * Text without thinking. If all text is withheld until the end of the reply, the white space
   * after it is removed with the thinking (OxyGent).
   */
  get text(): string {
    const { text } = this.#reader;
    return this.#options.withholdsAll && text !== this.#raw ? text.trimEnd() : text;
  }

  get thinking(): string {
    return this.#thoughts + this.#reader.thinking;
  }

  /** Reads deltas of the model and returns the deltas to send now. */
  take(batch: readonly ModelDelta[]): ModelDelta[] {
    const out: ModelDelta[] = [];
    for (const delta of batch) {
      if (delta.type === 'text') this.#takeText(delta, out);
      else if (delta.type === 'finish') this.finish = delta;
      else if (delta.type === 'reset') this.#begin(delta, out);
      else {
        this.callsNatively ||= delta.type === 'tool-input';
        this.hasMedia ||= delta.type === 'file';
        if (delta.type === 'thinking') this.#thoughts += delta.delta;
        this.#pass(delta, out);
      }
    }
    return out;
  }

  /** Ends the text. `words`: the part of the text that is not a tool call. */
  end(): { readonly deltas: readonly ModelDelta[]; readonly scan: Scan; readonly words: string } {
    const deltas: ModelDelta[] = [];
    const { pieces, scan } = this.#reader.end();
    this.#give(pieces, deltas);
    return { deltas, scan, words: this.#words };
  }

  /** Returns the remaining deltas, so that all sent deltas together match the parsed reply. */
  complete(reply: ParsedReply): readonly ModelDelta[] {
    const out: ModelDelta[] = [];
    const calls = reply.type === 'calls' ? reply.calls : [];
    const think = calls.flatMap((call) => call.think ?? []).join('\n');
    if (think) this.#pass({ type: 'thinking', id: 'think', delta: think }, out);
    const text = reply.type === 'invalid' ? '' : (reply.text ?? '');
    if (!text.startsWith(this.#given)) this.#takeBack(out);
    const rest = text.slice(this.#given.length);
    const ties = text === this.#raw && text ? this.#ties : {};
    if (rest || Object.keys(ties).length)
      out.push({ type: 'text', id: block, delta: rest, ...ties });
    for (const [index, { name, returnDirect, arguments: input }] of calls.entries()) {
      const delta = JSON.stringify(input) ?? '';
      out.push({ type: 'tool-input', index, name, delta, ...(returnDirect && trustMark) });
    }
    return out;
  }

  #takeText({ id, delta, signature, providerMetadata }: TextDelta, out: ModelDelta[]): void {
    // Joins text blocks with a line break, as `textOf` does.
    const isNext = this.#lastId !== undefined && this.#lastId !== id && this.#reader.text;
    const text = isNext ? `\n${delta}` : delta;
    this.#lastId = id;
    this.#raw += text;
    const ties = this.#ties;
    if (signature) ties.signature = (ties.signature ?? '') + signature;
    if (providerMetadata) ties.providerMetadata = { ...ties.providerMetadata, ...providerMetadata };
    this.#give(this.#reader.push(text), out);
  }

  #give(pieces: readonly TextPiece[], out: ModelDelta[]): void {
    for (const piece of pieces) {
      if (piece.type === 'thinking')
        this.#pass({ type: 'thinking', id: `think:${piece.block}`, delta: piece.text }, out);
      else if (piece.type === 'retract') {
        this.#words = '';
        this.#retracted += 1;
        if (this.#given) this.#takeBack(out);
      } else {
        this.#words += piece.text;
        // Withholds text after the second retraction, so that resets cannot repeat without end.
        if (this.#options.withholdsAll || this.#retracted > 1) continue;
        this.#given += piece.text;
        out.push({ type: 'text', id: block, delta: piece.text });
      }
    }
  }

  #pass(delta: ModelDelta, out: ModelDelta[]): void {
    this.#passed.push(delta);
    out.push(delta);
  }

  #takeBack(out: ModelDelta[]): void {
    this.#given = '';
    out.push({ type: 'reset', reason: 'protocol' }, ...this.#passed);
  }

  /** Starts the reply over. */
  #begin(reset: ModelDelta, out: ModelDelta[]): void {
    const { scans } = this.#options;
    this.#reader = new ReplyReader(scans);
    this.#passed = [];
    this.#given = this.#raw = this.#words = this.#thoughts = '';
    this.#lastId = this.finish = undefined;
    this.#ties = {};
    this.#retracted = 0;
    this.callsNatively = this.hasMedia = false;
    out.push(reset);
  }
}
