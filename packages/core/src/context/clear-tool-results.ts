import { checkOptions } from '../error/options/check-options.ts';
import {
  boolean,
  either,
  infinity,
  nonNegative,
  optional,
  string,
  strings,
  whole,
  withMethod,
} from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { isReply } from '../message/metadata.ts';
import { toolResultsOf, type ContentBlock, type Msg } from '../message/msg.ts';
import { memoize } from '../model/formatter/formatter.ts';
import { arc } from '../tokens/arc-profile.ts';
import { countMessage } from '../tokens/count-message.ts';
import type { TokenProfile } from '../tokens/token-profile.ts';
import { contextPolicy, headEnd, type ContextMiddleware } from './context-policy.ts';
import { requestCounter } from './request-meter.ts';

/** When `clearToolResults()` clears results, and which ones stay. */
export interface ClearToolResultsOptions {
  /**
   * Maximum number of estimated tokens that a request may have before results are cleared. Default:
   * 100,000.
   */
  readonly maxTokens?: number;
  /** Number of newest results that stay as they are. Default: 3. */
  readonly keep?: number;
  /**
   * Minimum number of tokens to free at a time. The oldest results are cleared in batches of at
   * least this size, until the request has at most `maxTokens` tokens. A batch that would free
   * fewer tokens is not cleared. Requests between two batches begin with the same text, which keeps
   * prompt caches valid. Default: 0, which clears all results except the newest `keep`.
   */
  readonly clearAtLeast?: number;
  /**
   * Whether a cleared result also clears its tool call: the arguments become `{}`. Default: false.
   */
  readonly clearToolInputs?: boolean;
  /** Text that replaces a cleared result. Default: `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared and do not count toward `keep`. */
  readonly exclude?: readonly string[];
  /** Token profile that counts the request. Default: `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Replaces old tool results with a placeholder if a request has become too long. The session log
 * does not change, and each tool call keeps a result. A text result that is no longer than the
 * placeholder stays. So does a result that the model has not replied to yet. The request may still
 * be too long: put `fitContext` or `summarizeHistory` after this policy. Throws `CONFIGURATION` for
 * an option of the wrong kind. Source: Spring AI Alibaba, context editing.
 */
export function clearToolResults(options: ClearToolResultsOptions = {}): ContextMiddleware {
  checkOptions('clearToolResults()', options, clearToolResultsOptions);
  const { maxTokens = 100_000, keep = 3, clearAtLeast = 0, clearToolInputs = false } = options;
  const { placeholder = '[cleared]', exclude = [], profile = arc } = options;
  const count = requestCounter(profile);
  const clear = clearer(placeholder);
  const idsAt = ({ content }: Msg): readonly string[] =>
    content.flatMap((block) =>
      block.type === 'tool_result' && !exclude.includes(block.name) ? block.toolUseId : [],
    );

  /** Returns the indexes of the messages whose results may be cleared, the oldest first. */
  const oldResults = (messages: readonly Msg[], start: number): readonly number[] => {
    const lastReplyIndex = messages.findLastIndex(isReply);
    const results = [...messages.keys()].filter((at) => at >= start && idsAt(messages[at]!).length);
    return results.slice(0, Math.max(0, results.length - keep)).filter((at) => at < lastReplyIndex);
  };

  /** Yields the batches that clear old results. The newest are in none if they free too little. */
  function* batchesOf(messages: readonly Msg[], start: number): Generator<ClearedBatch> {
    const clearedMessages = [...messages];
    const ids = new Set<string>();
    let batch: ClearedBatch = { changes: new Map(), freedTokens: 0 };
    for (const index of oldResults(messages, start)) {
      for (const id of idsAt(messages[index]!)) ids.add(id);
      const callIndex = callIndexOf(messages, index);
      for (const at of clearToolInputs && callIndex >= start ? [index, callIndex] : [index]) {
        const cleared = clear(messages[at]!, ids);
        batch.freedTokens +=
          countMessage(clearedMessages[at]!, profile) - countMessage(cleared, profile);
        batch.changes.set(at, cleared);
        clearedMessages[at] = cleared;
      }
      if (batch.freedTokens < clearAtLeast) continue;
      yield batch;
      batch = { changes: new Map(), freedTokens: 0 };
    }
  }

  return contextPolicy({
    name: 'clearToolResults',
    fit(request) {
      const { messages } = request;
      const tokens = count(request);
      const fittedMessages = [...messages];
      let fittedTokens = tokens;
      const batches = tokens > maxTokens ? batchesOf(messages, headEnd(request)) : [];
      for (const { changes, freedTokens } of batches) {
        for (const [at, cleared] of changes) fittedMessages[at] = cleared;
        fittedTokens -= freedTokens;
        if (clearAtLeast && fittedTokens <= maxTokens) break;
      }
      const isSame = fittedMessages.every((message, index) => message === messages[index]);
      return {
        messages: isSame ? messages : fittedMessages,
        removed: 0,
        before: tokens,
        after: fittedTokens,
      };
    },
  });
}

/** Returns the index of the message with the tool calls whose results are at an index. */
function callIndexOf(messages: readonly Msg[], index: number): number {
  let callIndex = index - 1;
  while (callIndex >= 0 && toolResultsOf(messages[callIndex]!).length) callIndex -= 1;
  return callIndex;
}

/** Messages that are cleared together, by their index, and how many tokens that frees. */
interface ClearedBatch {
  readonly changes: Map<number, Msg>;
  freedTokens: number;
}

const clearToolResultsOptions: OptionTable<ClearToolResultsOptions> = {
  maxTokens: optional(nonNegative),
  clearAtLeast: optional(nonNegative),
  keep: optional(either(whole, infinity)),
  clearToolInputs: optional(boolean),
  placeholder: optional(string),
  exclude: optional(strings),
  profile: optional(withMethod('countText')),
};

/**
 * Makes a function that clears the results and the arguments of the tool calls with these ids. For
 * the same calls of a message, it returns the same object each time. The token count and the JSON
 * for the provider are cached on that object.
 */
function clearer(placeholder: string): (message: Msg, ids: ReadonlySet<string>) => Msg {
  const versionsOf = memoize((_message: Msg) => new Map<string, Msg>());
  const clearBlock = (block: ContentBlock, ids: ReadonlySet<string>): ContentBlock => {
    if (block.type === 'tool_use' && ids.has(block.id)) {
      const { raw: _raw, ...rest } = block;
      return { ...rest, input: {} };
    }
    if (block.type !== 'tool_result' || !ids.has(block.toolUseId)) return block;
    const { output } = block;
    const isShort = typeof output === 'string' && output.length <= placeholder.length;
    return isShort ? block : { ...block, output: placeholder };
  };
  return (message, ids) => {
    const content = message.content.map((block) => clearBlock(block, ids));
    const changedIndexes = [...content.keys()].filter((at) => content[at] !== message.content[at]);
    if (!changedIndexes.length) return message;
    const key = changedIndexes.join();
    const versions = versionsOf(message);
    const version = versions.get(key) ?? { ...message, content };
    versions.set(key, version);
    return version;
  };
}
