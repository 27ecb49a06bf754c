import { AgentError } from '../error/agent-error.ts';
import type { ModelDelta } from './chat-model.ts';

/** Default of `limits.replyLength`, in characters. */
export const usualReplyLength = 1_000_000;

/** Characters that a block counts at least, so that empty blocks and calls have an end, too. */
const blockLength = 16;
/** Characters of a block's ids and name that `blockLength` covers. */
const usualIds = 64;
/** Characters of media that count as one: images are longer than texts. */
const mediaPerCharacter = 16;
/** Times that a reply may start again. */
const maxResets = 16;

/**
 * Counts what a reply makes the program keep: text, thinking, arguments, names, metadata. A reset
 * takes a part of the limit, so that a reply that starts again and again ends, too.
 */
export class ReplyLength {
  readonly #limit: number;
  #length = 0;
  #resets = 0;
  #block: string | number | undefined;
  #blocks: Set<string | number> = new Set();

  /** `limit`: in characters. */
  constructor(limit: number = usualReplyLength) {
    this.#limit = limit;
  }

  /** Throws `MODEL_REPLY_TOO_LONG` if the reply is too long with these deltas. */
  add(deltas: readonly ModelDelta[]): void {
    for (const delta of deltas) this.#add(delta);
    if (this.#length > this.#limit) throw this.#error();
  }

  /** Throws it if so many characters that are no deltas yet are too many. */
  hold(characters: number): void {
    if (characters > this.#limit * heldPerCharacter + minHeld) throw this.#error();
  }

  #add(delta: ModelDelta): void {
    const { signature, providerMetadata } = delta;
    if (signature) this.#length += signature.length;
    if (providerMetadata) this.#length += JSON.stringify(providerMetadata).length;
    if (delta.type === 'reset') {
      this.#resets += 1;
      this.#length = (this.#resets * this.#limit) / maxResets;
      this.#blocks.clear();
    } else if (delta.type === 'file') this.#length += delta.data.length / mediaPerCharacter;
    else if (delta.type !== 'finish') this.#addText(delta);
  }

  #addText(delta: Extract<ModelDelta, { readonly delta: string }>): void {
    // A delta takes memory even if it is empty.
    this.#length += delta.delta.length || 1;
    const block = delta.type === 'tool-input' ? delta.index : delta.id;
    if (block === this.#block) return;
    this.#block = block;
    if (this.#blocks.has(block)) return;
    this.#blocks.add(block);
    const { id = '', name = '' } = delta as { readonly id?: string; readonly name?: string };
    this.#length += Math.max(blockLength, id.length + name.length - usualIds);
  }

  #error(): AgentError {
    const message = `The reply has more than ${this.#limit} characters. The limit is \`limits.replyLength\`.`;
    return new AgentError('MODEL_REPLY_TOO_LONG', message);
  }
}

/** Characters on the wire for one character of a reply: escapes, names, media. */
const heldPerCharacter = 8;
const minHeld = 65_536;
