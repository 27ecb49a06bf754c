import { argumentsOf } from '../../message/call-arguments.ts';
import { memoize } from '../formatter/formatter.ts';
import { isObjectOrArray } from '../../message/json.ts';
import { toolUsesOf, type Msg } from '../../message/msg.ts';
import { textChecksum } from '../../message/text.ts';

/** A stored response that a request continues from. */
interface PreviousResponse {
  readonly id: string;
  readonly message: Msg;
  /** Index of the first message that the provider does not have. */
  readonly next: number;
}

/**
 * Returns the last response whose conversation is unchanged. `sums` has, for each message, the sum
 * of the conversation before it. A reply keeps the sums of its request and of itself. Hence an
 * edit, a guard or a trimmed history makes the request send the whole conversation again.
 */
export function previousResponse(
  messages: readonly Msg[],
  sums: readonly number[],
): PreviousResponse | undefined {
  for (let index = sums.length - 2; index >= 0; index--) {
    const message = messages[index]!;
    const id = message.metadata?.['id'];
    const link = message.metadata?.['responses'];
    if (typeof id !== 'string' || !isObjectOrArray(link) || link['input'] !== sums[index]) continue;
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const sum = replySum(text, toolUsesOf(message).map(argumentsOf));
    if (link['reply'] === sum) return { id, message, next: index + 1 };
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
  const checksumOf = memoize((message: Msg) => textChecksum(textOf(message)));
  return (messages) => {
    // Another server does not have the stored responses of this one.
    const sums = [textChecksum(origin)];
    for (const message of messages)
      sums.push(Math.imul(sums.at(-1)! ^ checksumOf(message), 0x01000193) >>> 0);
    return sums;
  };
}

/** Returns the checksum of a reply's text and of the arguments of its tool calls. */
export function replySum(text: string, calls: readonly string[]): number {
  return textChecksum(JSON.stringify([text, calls.map((call) => call || '{}')]));
}
