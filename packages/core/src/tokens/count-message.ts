import type { ContentBlock, ToolUse } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import { arc } from './arc-profile.ts';
import type { TokenProfile } from './token-profile.ts';

type Counts = WeakMap<object, number>;

/** Messages and tool schemas are never mutated, so an object is counted once a profile. */
const countsOf: WeakMap<TokenProfile, Counts> = new WeakMap();

/** Estimated tokens of a message: text, thinking, tool calls with their arguments, tool results; media at the profile's flat rate. */
export function countMessage(message: Msg, profile: TokenProfile = arc): number {
  return cached(message, profile, () => profile.perMessage + countBlocks(message.content, profile));
}

/** Estimated tokens of the tools' names, descriptions and parameters. */
export function countTools(tools: readonly ToolSchema[], profile: TokenProfile = arc): number {
  return tools.reduce((sum, tool) => sum + cached(tool, profile, () => profile.countText(JSON.stringify(tool))), 0);
}

function cached(key: object, profile: TokenProfile, count: () => number): number {
  let counts = countsOf.get(profile);
  if (!counts) countsOf.set(profile, (counts = new WeakMap()));
  let tokens = counts.get(key);
  if (tokens === undefined) counts.set(key, (tokens = count()));
  return tokens;
}

function countBlocks(blocks: readonly ContentBlock[], profile: TokenProfile): number {
  return blocks.reduce((sum, block) => sum + countBlock(block, profile), 0);
}

function countBlock(block: ContentBlock, profile: TokenProfile): number {
  switch (block.type) {
    case 'text':
      return profile.countText(block.text);
    case 'thinking':
      return profile.countText(block.thinking);
    case 'tool_use':
      return profile.perToolCall + profile.countText(block.name + argumentsOf(block));
    case 'tool_result':
      return typeof block.output === 'string' ? profile.countText(block.output) : countBlocks(block.output, profile);
    default:
      return profile.perMedia;
  }
}

function argumentsOf(call: ToolUse): string {
  return call.raw ?? JSON.stringify(call.input);
}
