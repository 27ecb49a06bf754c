import { AgentError } from '../../../error/agent-error.ts';
import { checkOptions } from '../../../error/check-fields.ts';
import {
  summarizeHistory,
  summaryFields,
  usualSummaryTokens,
  type HistorySummarizer,
  type SummarizeHistoryOptions,
} from './summarize-history.ts';

export interface SummarizationOptions extends SummarizeHistoryOptions {
  /**
   * Maximum number of estimated tokens of a request; a longer request is summarized. This option
   * replaces `window` and sets `reserveOutput` to 0. It also changes two defaults: `keep` is 20 and
   * `keepFirst` is true (Spring AI Alibaba: `SummarizationHook`).
   */
  readonly maxTokens?: number;
}

/**
 * Replaces old messages with a summary when a request has become too long. The session log does not
 * change. The summary is used until a request is too long again. If no summary arrives before
 * `timeoutMs`, the oldest messages are left out. `onError`, the event `context-fitted` and the
 * result's `warnings` get the error. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function summarization(options: SummarizationOptions = {}): HistorySummarizer {
  checkOptions('CONFIGURATION', 'summarization()', options, `maxTokens:count|? ${summaryFields}`);
  const { maxTokens, ...rest } = options;
  if (maxTokens === undefined) return summarizeHistory(rest);
  const { summaryTokens = usualSummaryTokens } = rest;
  if (maxTokens <= summaryTokens) {
    const room = `leaves no room beside summaryTokens: ${summaryTokens}`;
    throw new AgentError('CONFIGURATION', `summarization(): maxTokens: ${maxTokens} ${room}.`);
  }
  const heading = '## Summary of the conversation so far';
  const defaults = { keep: 20, keepFirst: true, heading };
  return summarizeHistory({ ...defaults, ...rest, window: maxTokens, reserveOutput: 0 });
}
