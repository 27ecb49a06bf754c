import type { ToolUse } from './content-block.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { jsonCopy } from './parse-json.ts';

/**
 * Returns the message with other arguments for one of its calls; the same message if they are equal.
 * `metadata.edited` keeps the calls as the model made them. Drops what would bring the old arguments
 * back: the raw text, and the ids under which the provider stores the call and the reply. Signatures
 * stay, because providers require them and they do not cover arguments.
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

/**
 * Returns the options without the id of an earlier response: the provider would take the model's old
 * arguments from there.
 */
export function withoutPreviousResponse(options: JsonObject): JsonObject {
  return jsonCopy(options, (key) => /^previous_?response_?id$/i.test(key)) as JsonObject;
}
