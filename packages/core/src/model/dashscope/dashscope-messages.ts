import { toolResultsOf, toolUsesOf } from '../../message/msg.ts';
import type { ContentBlock, MediaBlock, ToolResult, Msg } from '../../message/msg.ts';
import { isMedia, mediaPlaceholder, contentText, toUrl } from '../../message/media.ts';
import type { ModelFeatures } from '../chat-model.ts';
import { toWireCall, type WireObject } from '../openai/openai-messages.ts';

/**
 * Name of one of DashScope's two services. `text` takes only text, and `multimodal` takes messages
 * with media.
 */
export type DashScopeEndpoint = 'text' | 'multimodal';

/**
 * Kinds of media that the multimodal service supports. The service takes each of them by URL,
 * including a `data:` URL.
 */
const partKinds: readonly MediaBlock['type'][] = ['image', 'audio', 'video'];

/**
 * Converts one message to the format of the service. Each tool result becomes a separate message.
 * Thinking is not sent back. Only tool results have a `name` (AgentScope:
 * `DashScopeMessageConverter`).
 */
export function toDashScopeMessages(
  message: Msg,
  endpoint: DashScopeEndpoint,
  media: ModelFeatures['media'],
): readonly WireObject[] {
  const { role, content } = message;
  const toContent = (blocks: readonly ContentBlock[]): string | readonly WireObject[] =>
    endpoint === 'text' ? contentText(blocks) : toParts(blocks, media);
  if (role === 'assistant') {
    const calls = toolUsesOf(message).map(toWireCall);
    return [{ role, content: toContent(content), tool_calls: calls.length ? calls : undefined }];
  }
  const results = toolResultsOf(message).map(({ toolUseId, name, output }) => ({
    role: 'tool',
    tool_call_id: toolUseId,
    name,
    content: toContent(toBlocks(output)),
  }));
  const rest = content.filter((block) => block.type !== 'tool_result');
  if (!rest.length && (results.length || role === 'tool')) return results;
  return [...results, { role: role === 'tool' ? 'user' : role, content: toContent(rest) }];
}

/** Returns whether a message has a medium for which the multimodal service is needed. */
export function hasPart({ content }: Msg, media: ModelFeatures['media']): boolean {
  return content.some((block) =>
    block.type === 'tool_result'
      ? typeof block.output !== 'string' && block.output.some((each) => isPart(each, media))
      : isPart(block, media),
  );
}

function toParts(
  blocks: readonly ContentBlock[],
  media: ModelFeatures['media'],
): readonly WireObject[] {
  const parts = blocks.flatMap((block): WireObject[] => {
    if (block.type === 'text') return [{ text: block.text }];
    if (!isMedia(block)) return [];
    return [
      isPart(block, media)
        ? { [block.type]: toUrl(block.source) }
        : { text: mediaPlaceholder(block) },
    ];
  });
  // Some models of the service reject a message without parts.
  return parts.length > 0 ? parts : [{ text: '' }];
}

function isPart(block: ContentBlock, media: ModelFeatures['media']): boolean {
  return isMedia(block) && partKinds.includes(block.type) && media.includes(block.type);
}

function toBlocks(output: ToolResult['output']): readonly ContentBlock[] {
  return typeof output === 'string' ? [{ type: 'text', text: output }] : output;
}
