import { digest } from '../memory/digest.ts';
import { sortedJson } from '../message/json.ts';
import { isFromProgram } from '../message/metadata.ts';
import type { ContentBlock, Msg } from '../message/msg.ts';
import type { ChatModel, ModelRequest, RunInfo } from '../model/chat-model.ts';

/** Which requests have a key. `ReplyCacheOptions` describes the fields. */
interface KeyOptions {
  readonly maxTemperature?: number;
  readonly scope?: (run: RunInfo | undefined, request: ModelRequest) => string | undefined;
}

/**
 * Returns the key of a request, or `undefined` if the request does not use the cache. Requests with
 * the same content for the model have the same key. Ids, dates and log metadata of messages do not
 * count, and the order of tools does not count. The key is a SHA-256 hash as hex. If the platform
 * has no `crypto.subtle` (pages without HTTPS), the key is the text of the request. Rejects if the
 * options are not JSON.
 */
export async function cacheKey(
  { provider, modelId }: ChatModel,
  request: ModelRequest,
  run: RunInfo | undefined,
  { scope = () => '', maxTemperature = 0 }: KeyOptions,
): Promise<string | undefined> {
  const { messages, tools, ...options } = request;
  if ((options.temperature ?? Infinity) > maxTemperature) return undefined;
  const scopeText = scope(run, request);
  if (typeof scopeText !== 'string') return undefined;
  const sortedTools = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const content = [conversation(messages), sortedTools, options];
  const text = sortedJson([1, scopeText, provider, modelId, ...content]);
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  return subtle ? digest(text) : text;
}

/** Replaces the ids of tool calls with numbers, because each reply has new ids. */
function conversation(messages: readonly Msg[]): unknown {
  const numbers = new Map<string, number>();
  const numberOf = (id: string): number => {
    if (!numbers.has(id)) numbers.set(id, numbers.size);
    return numbers.get(id)!;
  };
  const withNumbers = (block: ContentBlock): unknown => {
    if (block.type === 'tool_use') return { ...block, id: numberOf(block.id) };
    if (block.type !== 'tool_result') return block;
    return { ...block, toolUseId: numberOf(block.toolUseId) };
  };
  // The `multiAgent` formatter reads the name, and whether the message is the library's own.
  return messages.map((message) => {
    const { role, name, content } = message;
    return [role, name, content.map(withNumbers), isFromProgram(message)];
  });
}
