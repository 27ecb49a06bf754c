import type { ToolUse } from './content-block.ts';
import type { JsonValue } from './json/json.ts';
import { toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { jsonCopy } from './json/parse-json.ts';

/**
 * Returns a copy of the message with new arguments for one of its tool calls. Returns the same
 * message if the arguments are equal. `metadata.edited` contains the original tool calls of the
 * model. Removes the raw argument text, and the ids under which the provider stores the tool call
 * and the reply. The old arguments could otherwise reach the model again. Signatures stay, because
 * providers require them. They do not cover arguments.
 */
export function withEditedCall(message: Msg, toolUseId: string, input: JsonValue): Msg {
  const call = toolUsesOf(message).find(({ id }) => id === toolUseId);
  if (!call || JSON.stringify(call.input) === JSON.stringify(input)) return message;
  const { id: _responseId, edited = [], ...metadata } = message.metadata ?? {};
  const before = edited as unknown as readonly ToolUse[];
  const originals = before.some(({ id }) => id === toolUseId) ? before : [...before, call];
  const { raw: _raw, ...kept } = jsonCopy(call, (key) => key === 'itemId') as unknown as ToolUse;
  return {
    ...message,
    content: message.content.map((block) => (block === call ? { ...kept, input } : block)),
    metadata: { ...metadata, edited: originals as unknown as JsonValue },
  };
}
