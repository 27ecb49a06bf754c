import type { AgentResult, ContentBlock, Msg } from '@isoloop/core';
import { sourcesOf } from '@isoloop/core/message';
import type { ResponseOptions, UrlCitation } from './response-object.ts';

/** A text of an answer, with the pages that it cites. */
export interface AnswerText {
  readonly text: string;
  readonly annotations: readonly UrlCitation[];
}

export const emptyText: AnswerText = { text: '', annotations: [] };

/** Returns the texts of the answer that are not empty. */
export function answerTexts(
  { message, text }: AgentResult,
  { sendsWholeText }: Pick<ResponseOptions, 'sendsWholeText'>,
): readonly AnswerText[] {
  if (!sendsWholeText) return messageTexts(message);
  return text ? [{ text, annotations: citationsIn(message.content, text) }] : [];
}

/**
 * Returns the texts of a message that are not empty. Sources outside the texts belong to the last
 * text.
 */
export function messageTexts({ content }: Msg): readonly AnswerText[] {
  const isText = (block: ContentBlock): boolean => block.type === 'text' && block.text !== '';
  const lastText = content.findLast(isText);
  const otherBlocks = content.filter((block) => !isText(block));
  return content.flatMap((block) => {
    if (block.type !== 'text' || !block.text) return [];
    const { text } = block;
    const citing = block === lastText ? [block, ...otherBlocks] : [block];
    return [{ text, annotations: citationsIn(citing, text) }];
  });
}

/** Returns a citation at the end of the text for each page; a page that is cited twice has one. */
function citationsIn(blocks: readonly ContentBlock[], text: string): readonly UrlCitation[] {
  const citations = new Map<string, UrlCitation>();
  for (const source of blocks.flatMap(sourcesOf)) {
    if (source.type !== 'url' || citations.has(source.url)) continue;
    const { url, title = url } = source;
    const range = { start_index: text.length, end_index: text.length };
    citations.set(url, { type: 'url_citation', url, title, ...range });
  }
  return [...citations.values()];
}
