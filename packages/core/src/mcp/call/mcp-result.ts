import { lengthOfTexts, startOfTexts } from '../../message/shorten-results.ts';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ContentBlock, MediaBlock } from '../../message/msg.ts';
import { mediaKind } from '../../message/media.ts';
import type { ToolOutput } from '../../tool/tool.ts';

type McpContent = CallToolResult['content'][number];

/**
 * Converts the result of an MCP tool to a tool output. Text stays text. Media and binary resources
 * become blocks of their kind, and links become text. Text after the first `maxChars` characters is
 * shortened, and a note says so. If the tool reports a failure, throws an error with the tool's own text.
 */
export function toToolOutput(
  { content, structuredContent, isError }: CallToolResult,
  maxChars: number,
): ToolOutput {
  const isBlank = content.every((each) => each.type === 'text' && !each.text.trim());
  const given =
    isBlank && structuredContent
      ? [textBlock(JSON.stringify(structuredContent))]
      : content.map(toBlock);
  const blocks = shorten(given, maxChars);
  const texts = blocks.flatMap((block) => (block.type === 'text' ? block.text : []));
  if (isError)
    throw new Error(
      texts.join('\n').replace(/^Error: /, '') || 'The tool failed and did not say why.',
    );
  return texts.length === blocks.length ? texts.join('\n') : { content: blocks };
}

function toBlock(content: McpContent): ContentBlock {
  switch (content.type) {
    case 'text':
      return textBlock(content.text);
    case 'image':
    case 'audio':
      return mediaBlock(content.type, content.mimeType, content.data);
    case 'resource': {
      const { resource } = content;
      if ('text' in resource) return textBlock(resource.text);
      const mediaType = resource.mimeType ?? 'application/octet-stream';
      return mediaBlock(mediaKind(mediaType), mediaType, resource.blob, resource.uri);
    }
    case 'resource_link': {
      const about = [content.mimeType, content.description].filter(Boolean).join(', ');
      return textBlock(`${content.name}: ${content.uri}${about && ` (${about})`}`);
    }
  }
}

function textBlock(text: string): ContentBlock {
  return { type: 'text', text };
}

function mediaBlock(
  type: MediaBlock['type'],
  mediaType: string,
  data: string,
  name?: string,
): ContentBlock {
  return { type, source: { type: 'base64', mediaType, data }, ...(name && { name }) };
}

/**
 * Shortens the text of blocks to `maxChars` characters. Media does not count, because its cost does not
 * depend on characters.
 */
function shorten(blocks: readonly ContentBlock[], maxChars: number): readonly ContentBlock[] {
  const total = lengthOfTexts(blocks);
  if (total <= maxChars) return blocks;
  const note = textBlock(`[shortened: ${maxChars} of ${total} characters]`);
  return [...startOfTexts(blocks, maxChars), note];
}
