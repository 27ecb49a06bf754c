import type { Middleware } from '../../agent/middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import {
  either,
  func,
  infinity,
  nonNegative,
  optional,
  strings,
  whole,
  withMethod,
} from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { KeyValueStore } from '../../memory/store/key-value-store.ts';
import { textOf, type ToolResult } from '../../message/msg.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import { largeResultStore } from './large-result-store.ts';
import { countFitting, linesOf, readResultTool, readToolName } from './read-result.ts';

/** Which results are too large, and where their text goes. */
export interface EvictLargeResultsOptions {
  /**
   * Store for the results. Results outlive the process if the store does. The key of a result has
   * the session id and the agent's `userId`. If users share a store, give the agent a `userId`, or
   * session ids that no two users share.
   */
  readonly store: KeyValueStore;
  /**
   * Maximum number of estimated tokens of a result's text. A longer result is moved to the store.
   * Default: 20,000. Source: Spring AI Alibaba.
   */
  readonly maxTokens?: number;
  /**
   * Number of lines that stay in the result, with at most 1,000 characters each. Default: 10.
   * Source: Spring AI Alibaba.
   */
  readonly headLines?: number;
  /** Names of tools whose results are never shortened. */
  readonly exclude?: readonly string[];
  /** Token profile that estimates the text. Default: `arc`. */
  readonly profile?: TokenProfile;
  /**
   * Function that gets the error if a result cannot be stored. Default: logs a warning to the
   * console.
   */
  readonly onError?: (error: AgentError) => void;
}

/** What `evictLargeResults()` returns: middleware that can delete the stored results. */
export interface LargeResultEviction extends Middleware {
  /**
   * Deletes the stored results of a session. Call `deleteSession` when you delete the session's
   * log. `userId`: the user whose results to delete, if several users have this session id.
   * Default: the results of all. If the store's list of keys is out of date, results that were just
   * stored may stay.
   */
  deleteSession(sessionId: string, userId?: string): Promise<void>;
}

/**
 * Moves the text of large tool results to a store before they enter the session log. The first
 * lines of a result stay, and so do its other blocks, such as images. The model reads the rest with
 * the tool `read_result`, by line numbers or by a search text. Hooks of other middleware get the
 * whole result first. Results belong to the session and its user: another process with the same
 * store, `sessionId` and `userId` can read them.
 *
 * If the store fails, the whole result stays and `onError` is called. If a stored result is
 * missing, `read_result` returns an error. If the result is the answer (`returnDirect`), the answer
 * contains only the first lines. Name such tools in `exclude`. Throws `CONFIGURATION` for an option
 * of the wrong kind.
 */
export function evictLargeResults(options: EvictLargeResultsOptions): LargeResultEviction {
  checkOptions('evictLargeResults()', options, evictLargeResultsOptions);
  const { maxTokens = 20_000, headLines = 10, exclude = [], profile = arc, onError } = options;
  const store = largeResultStore(options.store);
  const exemptTools = [readToolName, ...exclude];
  const evict = async (event: EventOf<'post-acting'>) => {
    const { toolUse, result } = event;
    const { output } = result;
    const text = typeof output === 'string' ? output : textOf(output);
    const isShort = estimateTokens(text, profile) <= maxTokens;
    if (isShort || exemptTools.includes(result.name)) return undefined;
    try {
      await store.write(event, toolUse.id, text);
    } catch (error) {
      const failure = AgentError.from(error, 'STORAGE_FAILED');
      reportFailure('A large result stays in the conversation:', onError, failure);
      return undefined;
    }
    const lines = linesOf(text);
    const firstLines = lines.slice(0, headLines);
    const head = firstLines.slice(0, countFitting(firstLines, maxTokens, profile));
    const size = `It has ${lines.length} lines; these are the first ${head.length}.`;
    const more = `Read more with ${readToolName}, id "${toolUse.id}".`;
    head.push(`[This result is too long to show. ${size} ${more}]`);
    return { ...event, result: withText(result, head.join('\n')) };
  };
  return {
    name: 'evictLargeResults',
    onError: 'fail',
    // Half the limit, so that one read does not use all the tokens that the shorter result saved.
    tools: [readResultTool(store, Math.ceil(maxTokens / 2), profile)],
    // Runs after hooks that change results, so that the changed result is stored.
    on: { 'post-acting': { handle: evict, priority: 10_000 } },
    deleteSession: (sessionId, userId) => store.delete(sessionId, userId),
  };
}

function withText(result: ToolResult, text: string): ToolResult {
  if (typeof result.output === 'string') return { ...result, output: text };
  const others = result.output.filter(({ type }) => type !== 'text');
  return { ...result, output: [{ type: 'text', text }, ...others] };
}

const evictLargeResultsOptions: OptionTable<EvictLargeResultsOptions> = {
  store: withMethod('setMany'),
  maxTokens: optional(nonNegative),
  headLines: optional(either(whole, infinity)),
  exclude: optional(strings),
  profile: optional(withMethod('countText')),
  onError: optional(func),
};
