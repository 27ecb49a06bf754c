import { checkFields } from '../../error/check-fields.ts';
import {
  summarizeHistory,
  type HistorySummarizer,
  type SummarizeHistoryOptions,
} from './summarize-history.ts';

export interface SummarizationOptions extends SummarizeHistoryOptions {
  /**
   * Estimated tokens of a request; a longer one is summarized. It stands for `window` without a
   * reserve, and other defaults hold: `keep` 20, `keepFirst` true (Spring AI Alibaba:
   * `SummarizationHook`).
   */
  readonly maxTokens?: number;
}

/**
 * Puts a summary in the place of old messages of a request that has grown too long; the log keeps
 * all. The summary stays until the request is too long again. If there is no summary in time, the
 * oldest messages are left out, and `onError` is told. Throws `CONFIGURATION` for an option of
 * another kind.
 */
export function summarization(options: SummarizationOptions = {}): HistorySummarizer {
  checkFields('CONFIGURATION', 'summarization()', options, 'maxTokens:count|?');
  const { maxTokens, ...rest } = options;
  if (maxTokens === undefined) return summarizeHistory(rest);
  const heading = '## Summary of the conversation so far';
  const defaults = { keep: 20, keepFirst: true, heading };
  return summarizeHistory({ ...defaults, ...rest, window: maxTokens, reserveOutput: 0 });
}
