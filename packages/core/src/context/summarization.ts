import { checkFields } from '../error/check-fields.ts';
import {
  summarizeHistory,
  type HistorySummarizer,
  type SummarizeHistoryOptions,
} from './summarize-history.ts';

export interface SummarizationOptions extends Omit<
  SummarizeHistoryOptions,
  'window' | 'reserveOutput' | 'keepFirst'
> {
  /** Estimated tokens of a request; one that is longer is summarised. */
  readonly maxTokens: number;
  /**
   * Newest messages that stay as they are, where they have room; a tool call and its results stay
   * or go together. Default 20.
   */
  readonly keep?: number;
  /** Whether the user's message that the conversation begins with stays. Default true. */
  readonly keepFirstUserMessage?: boolean;
}

/**
 * For an agent's `context`: `summarizeHistory` with the options and defaults of Spring AI Alibaba's
 * summarisation hook. Once a request has more than `maxTokens` all but the first user message and
 * the newest `keep` messages becomes a summary, which stays until there are too many again. Where
 * there is no summary in time the oldest messages are left out, and `onError` is told. Throws
 * `CONFIGURATION` for an option of another kind.
 */
export function summarization(options: SummarizationOptions): HistorySummarizer {
  checkFields(
    'CONFIGURATION',
    'summarization()',
    options,
    'maxTokens:count keepFirstUserMessage:boolean|?',
  );
  const {
    maxTokens,
    keep = 20,
    keepFirstUserMessage = true,
    heading = '## Summary of the conversation so far',
    ...rest
  } = options;
  return summarizeHistory({
    ...rest,
    window: maxTokens,
    reserveOutput: 0,
    keep,
    keepFirst: keepFirstUserMessage,
    heading,
  });
}
