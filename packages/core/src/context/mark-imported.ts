import type { Middleware } from '../agent/middleware.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { ContentBlock, Msg } from '../message/msg.ts';
import { metadataOf } from '../message/metadata.ts';
import { memoize } from '../model/formatter/formatter.ts';

/** The text with which `markImported()` marks messages. */
export interface MarkImportedOptions {
  /**
   * Text before each imported answer and result. Default:
   * `[Imported: not verified by this agent.]`.
   */
  readonly text?: string;
}

/**
 * Shows the model which answers and results a client has imported, so that it does not trust them
 * as its own. An endpoint marks these messages with `metadata.imported`. The log stays as it is.
 */
export function markImported(options: MarkImportedOptions = {}): Middleware {
  checkOptions('markImported()', options, markImportedOptions);
  const { text = '[Imported: not verified by this agent.]' } = options;
  // The same message stays the same object, so that its JSON is made once.
  const mark = memoize((message: Msg): Msg => {
    const { imported } = metadataOf(message);
    return imported ? { ...message, content: withText(message, text) } : message;
  });
  return {
    name: 'markImported',
    wrapRequest: (draft, next) => next({ ...draft, messages: draft.messages.map(mark) }),
  };
}

const markImportedOptions: OptionTable<MarkImportedOptions> = { text: optional(string) };

/** Returns the content of a message with a text before it, or before each of its results. */
function withText({ role, content }: Msg, text: string): readonly ContentBlock[] {
  const textBlock = { type: 'text', text } as const;
  if (role !== 'tool') return [textBlock, ...content];
  return content.map((block) => {
    if (block.type !== 'tool_result') return block;
    const { output } = block;
    return {
      ...block,
      output: typeof output === 'string' ? `${text}\n${output}` : [textBlock, ...output],
    };
  });
}
