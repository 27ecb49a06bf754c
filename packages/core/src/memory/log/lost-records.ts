import type { CallState } from '../../event/call-state.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { toolMessage } from '../../message/create-message.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { interruptedResult } from '../../tool/tool-result.ts';

/**
 * Returns the message without the tool results for which `isStray` returns true. Returns
 * `undefined` if no content is left.
 */
export function withoutResults(
  message: Msg,
  isStray: (toolUseId: string) => boolean,
): Msg | undefined {
  const content = message.content.filter(
    (block) => block.type !== 'tool_result' || !isStray(block.toolUseId),
  );
  if (content.length === message.content.length) return message;
  return content.length > 0 ? { ...message, content } : undefined;
}

/**
 * Returns a message with an `interrupted` result for a tool call. Returns `undefined` if the
 * messages do not contain the tool call.
 */
export function closedCall(
  messages: readonly Msg[],
  toolUseId: string,
  state: CallState | undefined,
): Msg | undefined {
  const message = messages.findLast((each) => toolUsesOf(each).some(({ id }) => id === toolUseId));
  const toolUse = message && toolUsesOf(message).find(({ id }): boolean => id === toolUseId);
  if (!toolUse) return undefined;
  const result = interruptedResult(toolUse satisfies ToolUse, { ...state, started: true });
  // The id and the time are fixed, so that each read returns the same message.
  return { ...toolMessage(result, { id: `lost ${toolUseId}` }), createdAt: message.createdAt };
}

/**
 * Returns whether the messages still contain the `count` messages from `first` to `last` that a
 * summary describes.
 */
export function holds(
  messages: readonly Msg[],
  { first, last, count }: { readonly first: string; readonly last: string; readonly count: number },
): boolean {
  const start = messages.findIndex(({ id }) => id === first);
  return start >= 0 && messages[start + count - 1]?.id === last;
}
