import { AgentError } from '../../error/agent-error.ts';
import type { ModelDelta } from '../chat-model.ts';

/** Default of `limits.replyLength`, in characters. */
export const defaultReplyLength = 1_000_000;

/**
 * Minimum number of characters that a block counts, so that empty blocks and tool calls also reach
 * the limit.
 */
const blockLength = 16;
/** Number of characters of a block's id and name that `blockLength` includes. */
const idLength = 64;
/**
 * Number of characters of media data that count as one character, because images are longer than
 * texts.
 */
const mediaPerCharacter = 16;
/** Maximum number of times that a reply may start again. */
const maxResets = 16;

/**
 * Counts the characters of a reply that the program keeps: text, thinking, names, arguments and
 * metadata. Each reset uses up a part of the limit, so that a reply with endless resets also fails.
 */
export class ReplyLength {
  readonly #limit: number;
  #length = 0;
  #resetCount = 0;
  readonly #blocks: Set<string | number> = new Set();

  /** `limit`: maximum length of a reply, in characters. Default: no limit. */
  constructor(limit: number = Infinity) {
    this.#limit = limit;
  }

  /** Counts these deltas. Throws `MODEL_REPLY_TOO_LONG` if the reply is now too long. */
  add(deltas: readonly ModelDelta[]): void {
    for (const delta of deltas) {
      const { type, signature, providerMetadata } = delta;
      if (signature) this.#length += signature.length;
      if (providerMetadata) this.#length += JSON.stringify(providerMetadata).length;
      if (type === 'finish') continue;
      if (type === 'file') this.#length += delta.data.length / mediaPerCharacter;
      else if (type === 'reset') {
        this.#resetCount += 1;
        this.#length = (this.#resetCount * this.#limit) / maxResets;
        this.#blocks.clear();
      } else {
        // Even an empty delta uses memory.
        this.#length += delta.delta.length || 1;
        const block = type === 'tool-input' ? delta.index : delta.id;
        if (this.#blocks.has(block)) continue;
        this.#blocks.add(block);
        const { id = '', name = '' }: { id?: string; name?: string } = delta;
        this.#length += Math.max(blockLength, id.length + name.length - idLength);
      }
    }
    if (this.#length > this.#limit) throw this.#error();
  }

  /**
   * Throws `MODEL_REPLY_TOO_LONG` if the number of received characters that are not deltas yet is
   * too large.
   */
  checkBuffered(characters: number): void {
    if (characters > this.#limit * bufferedPerCharacter + minBufferedLength) throw this.#error();
  }

  #error(): AgentError {
    const message = `The reply has more than ${this.#limit} characters. The limit is \`limits.replyLength\`.`;
    return new AgentError('MODEL_REPLY_TOO_LONG', message);
  }
}

/**
 * Maximum number of received characters for one character of a reply. Includes escapes, names and
 * media.
 */
const bufferedPerCharacter = 8;
const minBufferedLength = 65_536;
