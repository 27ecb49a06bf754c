import { toolResultsOf, toolUsesOf } from '../../message/msg.ts';
import type { ContentBlock, ToolResult, Msg } from '../../message/msg.ts';
import { isMedia, mediaPlaceholder, contentText, toUrl } from '../../message/media.ts';
import type { ModelFeatures } from '../chat-model.ts';
import { toWireCall, type WireObject } from '../openai/openai-messages.ts';

/**
 * Name of one of DashScope's two services. `text` takes only text, and `multimodal` takes messages
 * with media.
 */
export type DashScopeEndpoint = 'text' | 'multimodal';

type Media = ModelFeatures['media'];

/**
 * Returns the kinds of media that the model and the multimodal service support. The service takes
 * each of them by URL, including a `data:` URL.
 */
export function sendableMedia({ media }: ModelFeatures): Media {
  return media.filter((kind) => kind !== 'file');
}

/**
 * Converts one message to the format of the multimodal service, or to that of the text service if
 * `media` is `undefined`. Each tool result becomes a separate message.
 * Thinking is not sent back. Only tool results have a `name` (AgentScope:
 * `DashScopeMessageConverter`).
 */
export function toDashScopeMessages(message: Msg, media: Media | undefined): readonly WireObject[] {
  const { role, content } = message;
  const toContent = (blocks: readonly ContentBlock[]): string | readonly WireObject[] =>
    media ? toParts(blocks, media) : contentText(blocks);
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

/** Returns whether a message has a medium of these kinds. */
export function hasMedia({ content }: Msg, media: Media): boolean {
  const blocks = content.flatMap((block) =>
    block.type === 'tool_result' ? toBlocks(block.output) : block,
  );
  return blocks.some((block) => media.some((kind) => kind === block.type));
}

function toParts(blocks: readonly ContentBlock[], media: Media): readonly WireObject[] {
  const parts = blocks.flatMap((block): readonly WireObject[] => {
    if (block.type === 'text') return [{ text: block.text }];
    if (!isMedia(block)) return [];
    const isSent = media.includes(block.type);
    return [isSent ? { [block.type]: toUrl(block.source) } : { text: mediaPlaceholder(block) }];
  });
  // Some models of the service reject a message without parts.
  return parts.length > 0 ? parts : [{ text: '' }];
}

function toBlocks(output: ToolResult['output']): readonly ContentBlock[] {
  return typeof output === 'string' ? [{ type: 'text', text: output }] : output;
}
