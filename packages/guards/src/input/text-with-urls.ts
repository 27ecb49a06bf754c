import type { ContentBlock, Msg } from '@isoloop/core';
import { textsOf } from '@isoloop/core/message';

/**
 * Returns every text of the messages and the URLs of their media, without inline data. A model that
 * does not accept a medium reads its URL.
 */
export function textWithUrls(messages: readonly Msg[]): string {
  const urls = messages.flatMap(({ content }) => content.flatMap(urlsIn));
  return [...textsOf(messages), ...urls].join('\n');
}

function urlsIn(block: ContentBlock): readonly string[] {
  if (block.type === 'tool_result')
    return typeof block.output === 'string' ? [] : block.output.flatMap(urlsIn);
  if (!('source' in block) || block.source.type !== 'url') return [];
  return block.source.url.startsWith('data:') ? [] : [block.source.url];
}
