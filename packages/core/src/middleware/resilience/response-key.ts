import type { ContentBlock } from '../../message/content-block.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { Msg } from '../../message/msg.ts';
import { isOwn } from '../../message/metadata-keys.ts';
import type { ChatModel, ModelRequest } from '../../model/chat-model.ts';

/**
 * Returns a key for a request. Requests with the same content for the model have the same key. Ids,
 * dates and log metadata of messages do not count, and the order of tools does not count. The key
 * is a SHA-256 hash as hex. If the platform has no `crypto.subtle` (pages without HTTPS), the key
 * is the text of the request. Rejects if the options are not JSON.
 */
export async function responseKey(
  model: ChatModel,
  { messages, tools, ...options }: ModelRequest,
  scope: string,
): Promise<string> {
  const named = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const text = canonical([
    1,
    scope,
    model.provider,
    model.modelId,
    conversation(messages),
    named,
    options,
  ]);
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  if (!subtle) return text;
  const hash = await subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Replaces the ids of tool calls with numbers, because each reply has new ids. */
function conversation(messages: readonly Msg[]): unknown {
  const places = new Map<string, number>();
  const placeOf = (id: string): number => {
    if (!places.has(id)) places.set(id, places.size);
    return places.get(id)!;
  };
  const told = (block: ContentBlock): unknown => {
    if (block.type === 'tool_use') return { ...block, id: placeOf(block.id) };
    return block.type === 'tool_result' ? { ...block, toolUseId: placeOf(block.toolUseId) } : block;
  };
  // The `multiAgent` formatter reads the name, and whether the message is the library's own.
  return messages.map((message) => {
    const { role, name, content } = message;
    return [role, name, content.map(told), isOwn(message)];
  });
}

/** Returns JSON text in which the keys of each object are sorted. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item) && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
