import { isSameJson } from './json/parse-json.ts';
import { metadataOf, withMetadata } from './metadata-keys.ts';
import type { ToolUse } from './content-block.ts';
import type { JsonValue } from './json/json.ts';
import { toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';

/**
 * Returns a copy of the message with new arguments for one of its tool calls. Returns the same
 * message if the arguments are equal. `metadata.edited` contains the original tool calls of the
 * model. Removes the raw argument text, because it has the old arguments. Provider metadata stays.
 * If it names arguments that the provider has stored, the provider's formatter leaves it out
 * (`isEdited`).
 */
export function withEditedCall(message: Msg, toolUseId: string, input: JsonValue): Msg {
  const call = toolUsesOf(message).find(({ id }) => id === toolUseId);
  if (!call || isSameJson(call.input, input)) return message;
  const before = originalCalls(message);
  const originals = before.some(({ id }) => id === toolUseId) ? before : [...before, call];
  const { raw: _raw, ...kept } = call;
  const content = message.content.map((block) => (block === call ? { ...kept, input } : block));
  return withMetadata({ ...message, content }, { edited: originals });
}

/** Returns whether a person has changed the arguments of this tool call. */
export function isEdited(message: Msg, toolUseId: string): boolean {
  return originalCalls(message).some(({ id }) => id === toolUseId);
}

/**
 * Returns whether a person has changed a tool call of the newest reply. What the provider has stored
 * of that reply still has the old arguments.
 */
export function isNewestReplyEdited(messages: readonly Msg[]): boolean {
  const reply = messages.findLast(({ role }) => role === 'assistant');
  return reply !== undefined && originalCalls(reply).length > 0;
}

function originalCalls(message: Msg): readonly ToolUse[] {
  return metadataOf(message).edited ?? [];
}
