import { AgentError } from '../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { ToolResult } from '../../message/content-block.ts';
import { textOf } from '../../message/message-text.ts';
import type { KeyValueStore } from '../../memory/key-value-store.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { LargeResultStore } from './large-result-store.ts';
import { fitting, linesOf, readResultTool, readToolName } from './read-result-tool.ts';

/** Which results are too large, and where their text goes. */
export interface EvictLargeResultsOptions {
  /** Store for the results. Results outlive the process if the store does. */
  readonly store: KeyValueStore;
  /**
   * Maximum number of estimated tokens of a result's text. A longer result is moved to the store.
   * Default 20,000 (Spring AI Alibaba).
   */
  readonly maxTokens?: number;
  /**
   * Number of lines that stay in the result, with at most 1,000 characters each. Default 10 (Spring
   * AI Alibaba).
   */
  readonly headLines?: number;
  /** Names of tools whose results are never shortened. */
  readonly exclude?: readonly string[];
  /** Token profile that estimates the text. Default `arc`. */
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
   * Deletes the stored results of a session. Call `forget` when you delete the session's log. If
   * the store's list of keys is out of date, results that another process has just stored may stay.
   */
  forget(sessionId: string): Promise<void>;
}

/**
 * Moves the text of large tool results to a store before they enter the session log. The first
 * lines of a result stay, and so do its other blocks, such as images. The model reads the rest with
 * the tool `read_result`, by line numbers or by a search text. Hooks of other middleware get the
 * whole result first. Results belong to the session: another process with the same store and
 * `sessionId` can read them.
 *
 * If the store fails, the whole result stays and `onError` is called. If a stored result is
 * missing, `read_result` returns an error. If the result is the answer (`returnDirect`), the answer
 * contains only the first lines. Name such tools in `exclude`. Throws `CONFIGURATION` for an option
 * of the wrong kind.
 */
export function evictLargeResults(options: EvictLargeResultsOptions): LargeResultEviction {
  checkOptions('evictLargeResults()', options, optionFields);
  const parts = 'features:object get,getMany,setMany,delete,keys:function';
  checkFields('evictLargeResults(): store', options.store, parts);
  const { maxTokens = usualTokens, exclude = [], profile = arc, onError } = options;
  const store = new LargeResultStore(options.store);
  const kept = [readToolName, ...exclude];
  const evict = async (event: EventOf<'post-acting'>) => {
    const { sessionId, toolUse, result } = event;
    const text = typeof result.output === 'string' ? result.output : textOf(result.output);
    if (kept.includes(result.name) || estimateTokens(text, profile) <= maxTokens) return undefined;
    try {
      await store.write(sessionId, toolUse.id, text);
    } catch (error) {
      const failure = AgentError.from(error, 'STORAGE_FAILED');
      reportFailure('A large result stays in the conversation:', onError, failure);
      return undefined;
    }
    return { ...event, result: withText(result, shorten(text, toolUse.id, options)) };
  };
  return {
    name: 'evictLargeResults',
    onError: 'fail',
    // Half the limit, so that one read does not use all the tokens that the shorter result saved.
    tools: [readResultTool({ store, maxTokens: Math.ceil(maxTokens / 2), profile })],
    // Runs after hooks that change results, so that the changed result is stored.
    on: { 'post-acting': { handle: evict, priority: 10_000 } },
    forget: (sessionId) => store.delete(sessionId),
  };
}

function withText(result: ToolResult, text: string): ToolResult {
  if (typeof result.output === 'string') return { ...result, output: text };
  const others = result.output.filter(({ type }) => type !== 'text');
  return { ...result, output: [{ type: 'text', text }, ...others] };
}

const optionFields =
  'store maxTokens:count|? headLines:whole|Infinity|? exclude:names|? profile:countText()|? ' +
  'onError:function|?';

function shorten(
  text: string,
  id: string,
  { headLines = 10, maxTokens = usualTokens, profile = arc }: EvictLargeResultsOptions,
): string {
  const lines = linesOf(text);
  const first = lines.slice(0, headLines);
  const head = first.slice(0, fitting(first, maxTokens, profile));
  const size = `It has ${lines.length} lines; these are the first ${head.length}.`;
  const more = `Read more with ${readToolName}, id "${id}".`;
  return [...head, `[This result is too long to show. ${size} ${more}]`].join('\n');
}

const usualTokens = 20_000;
