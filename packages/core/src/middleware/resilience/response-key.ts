import type { ContentBlock } from '../../message/content-block.ts';
import { isRecord } from '../../message/is-record.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, ModelRequest } from '../../model/chat-model.ts';

/**
 * Returns the same key for requests that ask the same. Of messages only the content for the model
 * counts, not ids, dates or marks of the log; tools count in any order. The key is SHA-256 as hex,
 * or the text itself if the platform has no `crypto.subtle` (pages without HTTPS). Rejects for
 * options that are not JSON.
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

/** Replaces the ids of tool calls by their position: each provider makes its own ids. */
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
  // `multiAgent` reads `name` and `bypassHistory`.
  return messages.map(({ role, name, content, metadata }) => [
    role,
    name,
    content.map(told),
    metadata?.['bypassHistory'],
  ]);
}

/** Returns JSON that does not depend on the order of an object's keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item) && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
