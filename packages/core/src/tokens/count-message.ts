import { argumentsOf } from '../message/call-arguments.ts';
import { metadataOf } from '../message/metadata.ts';
import type { ContentBlock, MediaBlock, Msg } from '../message/msg.ts';
import { writtenText } from '../message/conversation/text-history.ts';
import type { ModelRequest, ToolSchema } from '../model/chat-model.ts';
import { memoize } from '../model/formatter/formatter.ts';
import { arc } from './arc-profile.ts';
import { imageSize } from '../message/media/image-size.ts';
import type { TokenProfile } from './token-profile.ts';

/**
 * Returns the counters of a profile. Messages and tool schemas never change, so each is counted
 * once per profile.
 */
const countersOf = /* @__PURE__ */ memoize((profile: TokenProfile) => ({
  message: memoize((message: Msg) => profile.perMessage + countContent(message, profile)),
  tool: memoize((tool: ToolSchema) => profile.countText(JSON.stringify(tool))),
}));

/**
 * Estimates the tokens of a message: text, thinking, tool calls with their arguments, and tool
 * results. Adds the profile's fixed costs of the message and of each tool call. With `imagePixels`
 * in the profile, an inline image counts by its size in pixels. Other media count as `perMedia`.
 */
export function countMessage(message: Msg, profile: TokenProfile = arc): number {
  return Math.round(countersOf(profile).message(message));
}

/** Estimates the tokens of several messages. Rounds only the sum. */
export function countMessages(messages: readonly Msg[], profile: TokenProfile = arc): number {
  return Math.round(sumOf(messages, profile));
}

/**
 * Estimates the tokens of the tools' names, descriptions and parameters, in the form that models of
 * this profile receive.
 */
export function countTools(tools: readonly ToolSchema[], profile: TokenProfile = arc): number {
  if (tools.length === 0) return 0;
  const { once, each, factor } = profile.tools ?? { once: 0, each: 0, factor: 1 };
  const { tool: count } = countersOf(profile);
  return Math.round(tools.reduce((sum, tool) => sum + each + factor * count(tool), once));
}

/** Estimates the tokens of a whole request, including the fixed cost of a request. */
export function countRequest(
  { messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>,
  profile: TokenProfile = arc,
): number {
  return (
    Math.round((profile.perRequest ?? 0) + sumOf(messages, profile)) + countTools(tools, profile)
  );
}

function sumOf(messages: readonly Msg[], profile: TokenProfile): number {
  const { message: count } = countersOf(profile);
  return messages.reduce((sum, message) => sum + count(message), 0);
}

/**
 * Counts the blocks of a message. If the model wrote tool calls as text, counts that text, because
 * the next request repeats the text.
 */
function countContent(message: Msg, profile: TokenProfile): number {
  const rawText = metadataOf(message).written && writtenText(message);
  if (typeof rawText !== 'string') return countBlocks(message.content, profile);
  const others = message.content.filter(({ type }) => type !== 'text' && type !== 'tool_use');
  return profile.countText(rawText) + countBlocks(others, profile);
}

function countBlocks(blocks: readonly ContentBlock[], profile: TokenProfile): number {
  return blocks.reduce((sum, block) => sum + countBlock(block, profile), 0);
}

function countBlock(block: ContentBlock, profile: TokenProfile): number {
  switch (block.type) {
    case 'text':
      return profile.countText(block.text);
    case 'thinking':
      return profile.thinking === false ? 0 : profile.countText(block.thinking);
    case 'tool_use':
      return profile.perToolCall + profile.countText(block.name + argumentsOf(block));
    case 'tool_result':
      return typeof block.output === 'string'
        ? profile.countText(block.output)
        : countBlocks(block.output, profile);
    default:
      return profile.countMedia?.(block) ?? countMedium(block, profile);
  }
}

/**
 * Counts an image as 255 tokens plus one token per `imagePixels` pixels, up to `perMedia`. The most
 * expensive provider charges 255 tokens for the smallest image.
 */
function countMedium(block: MediaBlock, { perMedia, imagePixels }: TokenProfile): number {
  const size = imagePixels && imageSize(block);
  return size ? Math.min(perMedia, 255 + (size.width * size.height) / imagePixels) : perMedia;
}
