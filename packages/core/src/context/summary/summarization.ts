import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import {
  summarizeHistory,
  usualSummaryTokens,
  type HistorySummarizer,
  type SummarizeHistoryOptions,
} from './summarize-history.ts';

export interface SummarizationOptions extends SummarizeHistoryOptions {
  /**
   * Longest request, in estimated tokens; a longer one is summarized. This option replaces
   * `window`, sets `reserveOutput` to 0, and changes other defaults: `keep` 20, `keepFirst` true
   * (Spring AI Alibaba: `SummarizationHook`).
   */
  readonly maxTokens?: number;
}

/**
 * If a request has grown too long, replaces its old messages with a summary. The log keeps
 * everything. The summary stays until the request is too long again. If no summary arrives in time,
 * the oldest messages are left out, and `onError` gets the error. Throws `CONFIGURATION` for an
 * option of the wrong kind.
 */
export function summarization(options: SummarizationOptions = {}): HistorySummarizer {
  checkFields(
    'CONFIGURATION',
    'summarization()',
    options,
    'maxTokens:count|? summaryTokens:count|?',
  );
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
