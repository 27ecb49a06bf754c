import { memoize, argumentsOf } from '../formatter.ts';
import { isRecord } from '../../message/json/is-record.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { textSum } from '../../message/text-sum.ts';
import type { ModelDelta } from '../chat-model.ts';

/**
 * Checksums of what a stored response covers. A later request continues from the response only if
 * its conversation still has the same sums. Hence an edit, a guard or a trimmed history makes the
 * request send the whole conversation again.
 */
export interface ResponseLink {
  /** Sum of the conversation before the reply. */
  readonly input: number;
  /** Sum of the reply's text and tool calls. */
  readonly reply: number;
}

/** A stored response that a request continues from. */
export interface PreviousResponse {
  readonly id: string;
  /** Index of the first message that the provider does not have. */
  readonly next: number;
}

/**
 * Returns the last response whose conversation is unchanged. `sums` has, for each message, the sum of
 * the conversation before it.
 */
export function previousResponse(
  messages: readonly Msg[],
  sums: readonly number[],
): PreviousResponse | undefined {
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!;
    const id = message.metadata?.['id'];
    const link = message.metadata?.['responses'];
    if (typeof id !== 'string' || !isRecord(link) || link['input'] !== sums[index]) continue;
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const reply = new ReplySum(text, toolUsesOf(message).map(argumentsOf));
    if (link['reply'] === reply.value) return { id, next: index + 1 };
  }
  return undefined;
}

/**
 * Returns a function that returns the sums of a conversation: before each message, and at its end.
 * `textOf`: returns what the server gets for a message.
 */
export function conversationSums(
  origin: string,
  textOf: (message: Msg) => string,
): (messages: readonly Msg[]) => readonly number[] {
  const sumOf = memoize((message: Msg) => textSum(textOf(message)));
  return (messages) => {
    // Another server does not have the stored responses of this one.
    const sums = [textSum(origin)];
    for (const message of messages)
      sums.push(Math.imul(sums.at(-1)! ^ sumOf(message), 0x01000193) >>> 0);
    return sums;
  };
}

/** Checksum of a reply, from its deltas or from the stored message. */
export class ReplySum {
  #text: string;
  readonly #calls: string[];

  constructor(text = '', calls: readonly string[] = []) {
    this.#text = text;
    this.#calls = [...calls];
  }

  add(delta: ModelDelta): void {
    if (delta.type === 'text') this.#text += delta.delta;
    if (delta.type === 'tool-input')
      this.#calls[delta.index] = (this.#calls[delta.index] ?? '') + delta.delta;
  }

  get value(): number {
    return textSum(JSON.stringify([this.#text, this.#calls.map((call) => call || '{}')]));
  }
}
