import type { ContentBlock } from '../../message/content-block.ts';
import { isRecord } from '../../message/is-record.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, ModelRequest } from '../../model/chat-model.ts';

/**
 * The same for requests that ask the same: of messages what the model is told, no ids, dates or
 * marks of the log; tools in any order. SHA-256 as hex; the text itself where the platform has no
 * `crypto.subtle` (pages without HTTPS). Rejects for options that are no JSON.
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

/** Tool calls by their place: a provider gives each an id of its own. */
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
  // What `multiAgent` looks at.
  return messages.map(({ role, name, content, metadata }) => [
    role,
    name,
    content.map(told),
    metadata?.['bypassHistory'],
  ]);
}

/** JSON that is the same whatever order an object's keys are in. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item) && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
