import { argumentsOf } from '../../message/call-arguments.ts';
import type { WireObject } from '../formatter/formatter.ts';
import {
  toolResultsOf,
  toolUsesOf,
  type ContentBlock,
  type MediaBlock,
  type Msg,
  type ThinkingBlock,
} from '../../message/msg.ts';
import type { JsonValue } from '../../message/json.ts';
import {
  contentText,
  inlineSource,
  isMedia,
  mediaPlaceholder,
  toUrl,
} from '../../message/media/media.ts';
import { imageDetailOf } from '../../message/provider-metadata.ts';
import type { ModelFeatures } from '../chat-model.ts';
import { isForClient } from './hosted-tool-item.ts';
import type { KeptItem, WireItem } from './responses-wire.ts';

export interface InputTarget {
  readonly features: ModelFeatures;
  /** Host of the server. */
  readonly origin: string;
  /** Whether the model accepts encrypted reasoning. Default: true. */
  readonly encryptedReasoning?: boolean;
}

/** Item to send, with its position in the reply that it comes from. */
interface IndexedItem {
  readonly index: number;
  readonly item: WireObject;
}

/**
 * Returns whether an item must not be sent back without a result of the client. We cannot run such
 * calls, and a request that has one without its result is refused.
 */
function isUnanswered(item: WireObject = {}): boolean {
  const { type } = item;
  const isRefused = type === 'mcp_approval_request' || type === 'image_generation_call';
  return isRefused || isForClient(item as WireItem);
}

/** Programs that called functions, by the id of the call. */
export type Callers = ReadonlyMap<string, JsonValue>;

/** Returns the programs of the provider that called functions in these messages. */
export function callersIn(messages: readonly Msg[], { origin }: InputTarget): Callers {
  const callers = new Map<string, JsonValue>();
  for (const block of messages.flatMap(toolUsesOf)) {
    const { item, origin: itemOrigin } = keptItem(block);
    const caller = itemOrigin === origin ? item?.['caller'] : undefined;
    if (caller != null) callers.set(block.id, caller);
  }
  return callers;
}

/** Converts one message to input items. The result of a program's call names the program. */
export function toInputItems(
  message: Msg,
  target: InputTarget,
  callers: Callers = new Map(),
): readonly WireObject[] {
  const { role, content } = message;
  if (role === 'assistant') return fromAssistant(content, target);
  const rest = content.filter((block) => block.type !== 'tool_result');
  const outputs = toolResultsOf(message).map(({ toolUseId, output }) => ({
    type: 'function_call_output',
    call_id: toolUseId,
    output: typeof output === 'string' ? output : toContent(output, target),
    caller: callers.get(toolUseId),
  }));
  if (!rest.length) return outputs;
  const textMessage = {
    role: role === 'tool' ? 'user' : role,
    content: role === 'system' ? contentText(rest) : toContent(rest, target),
  };
  return [...outputs, textMessage];
}

/**
 * Converts a reply to the items that it came as, in their order. Text and arguments are those of
 * the message, which a guard or a person may have changed.
 */
function fromAssistant(
  content: readonly ContentBlock[],
  target: InputTarget,
): readonly WireObject[] {
  const indexedItems: IndexedItem[] = [];
  for (const block of content) {
    const { index = Infinity } = keptItem(block);
    const lastItem = indexedItems.at(-1);
    const item = toItem(block, content, target);
    if (!item) continue;
    // The texts of one message item stay one message.
    const joins = block.type === 'text' && lastItem?.index === index && lastItem.item['role'];
    if (joins && index < Infinity) {
      const text = `${lastItem.item['content'] as string}${block.text}`;
      indexedItems[indexedItems.length - 1] = { index, item: { ...lastItem.item, content: text } };
    } else indexedItems.push({ index, item });
  }
  indexedItems.sort((a, b) => (a.index === b.index ? 0 : a.index - b.index));
  // A server refuses reasoning without the item that followed it, such as after an incomplete
  // reply.
  const isComplete = ({ item }: IndexedItem, position: number): boolean =>
    item['type'] !== 'reasoning' || Number.isFinite(indexedItems[position + 1]?.index);
  return indexedItems.filter(isComplete).map(({ item }) => item);
}

function toItem(
  block: ContentBlock,
  content: readonly ContentBlock[],
  { origin, encryptedReasoning }: InputTarget,
): WireObject | undefined {
  const { item: storedItem, origin: itemOrigin, index } = keptItem(block);
  // A model without reasoning refuses it.
  if (encryptedReasoning === false && storedItem?.['encrypted_content']) return undefined;
  const item = itemOrigin === origin ? storedItem : undefined;
  switch (block.type) {
    case 'text':
      return block.text ? { role: 'assistant', content: block.text, ...item } : undefined;
    case 'tool_use':
      return {
        type: 'function_call',
        ...item,
        call_id: block.id,
        name: block.name,
        arguments: argumentsOf(block),
      };
    case 'thinking':
      return item && toKeptItem(item, index!, content);
    case 'tool_result':
      return undefined;
    default:
      return { role: 'assistant', content: mediaPlaceholder(block) };
  }
}

/** Returns a reasoning item, or the item of a built-in tool, if the server accepts it. */
function toKeptItem(
  item: WireObject,
  index: number,
  content: readonly ContentBlock[],
): WireObject | undefined {
  const type = String(item['type']);
  if (type !== 'reasoning') {
    const isAnswered = content.some((block) => isOutputOf(item, keptItem(block).item));
    return isUnanswered(item) && !isAnswered ? undefined : item;
  }
  const next = content.find((block) => keptItem(block).index === index + 1);
  // A server refuses reasoning without the item that follows it.
  if (next && isUnanswered(keptItem(next).item)) return undefined;
  const thoughts = content.filter(
    (block): block is ThinkingBlock =>
      block.type === 'thinking' && block.thinking !== '' && keptItem(block).index === index,
  );
  const isFull = (block: ThinkingBlock): boolean => keptItem(block).part === 'content';
  const full = thoughts.filter(isFull);
  // Without either of them, a server that stores nothing does not know the item.
  if (!item['encrypted_content'] && !full.length) return undefined;
  const toPart = (partType: string) => (block: ThinkingBlock) => ({
    type: partType,
    text: block.thinking,
  });
  return {
    ...item,
    summary: thoughts.filter((block) => !isFull(block)).map(toPart('summary_text')),
    content: full.length ? full.map(toPart('reasoning_text')) : undefined,
  };
}

/** Returns whether the second item is the result of the first one, a call of a built-in tool. */
function isOutputOf(call: WireObject, output: WireObject | undefined): boolean {
  return (
    output?.['type'] === `${String(call['type'])}_output` && output['call_id'] === call['call_id']
  );
}

function keptItem({ providerMetadata }: ContentBlock): Partial<KeptItem> {
  return (providerMetadata?.['responses'] ?? {}) as Partial<KeptItem>;
}

/**
 * Returns text alone as a string, which every server accepts, and parts only if there are media.
 */
function toContent(
  content: readonly ContentBlock[],
  { features }: InputTarget,
): string | readonly WireObject[] {
  const parts = content.flatMap((block): WireObject[] => {
    if (block.type === 'text') return [{ type: 'input_text', text: block.text }];
    return isMedia(block) ? [toInputMedia(block, features)] : [];
  });
  return parts.every((part) => part['type'] === 'input_text') ? contentText(content) : parts;
}

function toInputMedia(block: MediaBlock, { media }: ModelFeatures): WireObject {
  const { type, name } = block;
  const source = inlineSource(block.source);
  if (media.includes(type)) {
    if (type === 'image') {
      const detail = imageDetailOf(block) ?? 'auto';
      return { type: 'input_image', image_url: toUrl(source), detail };
    }
    if (type === 'file')
      return source.type === 'url'
        ? { type: 'input_file', file_url: source.url }
        : { type: 'input_file', filename: name ?? 'file', file_data: toUrl(source) };
  }
  return { type: 'input_text', text: mediaPlaceholder(block) };
}
