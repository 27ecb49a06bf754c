import type { CallState } from '../../../event/call-state.ts';
import type { ToolUse } from '../../../message/content-block.ts';
import { toolMessage } from '../../../message/create-message.ts';
import { toolUsesOf } from '../../../message/message-text.ts';
import type { Msg } from '../../../message/msg.ts';
import { interruptedResult } from '../../../tool/tool-result.ts';

/** Returns a message without these results; `undefined` if nothing is left of it. */
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

/** Returns an `interrupted` result for a call; `undefined` if the messages do not hold the call. */
export function closedCall(
  messages: readonly Msg[],
  toolUseId: string,
  state: CallState | undefined,
): Msg | undefined {
  const message = messages.findLast((each) => toolUsesOf(each).some(({ id }) => id === toolUseId));
  const toolUse = message && toolUsesOf(message).find(({ id }): boolean => id === toolUseId);
  if (!toolUse) return undefined;
  const result = interruptedResult(toolUse satisfies ToolUse, { ...state, started: true });
  // Reading again gives the same message.
  return { ...toolMessage(result, { id: `lost ${toolUseId}` }), createdAt: message.createdAt };
}

/** Returns whether the messages hold all that a summary is of. */
export function holds(
  messages: readonly Msg[],
  { first, last, count }: { readonly first: string; readonly last: string; readonly count: number },
): boolean {
  const start = messages.findIndex(({ id }) => id === first);
  return start >= 0 && messages[start + count - 1]?.id === last;
}
