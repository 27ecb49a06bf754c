import { checkOptions, checkNames, checkWhole } from '../../../error/check-fields.ts';
import type { Msg } from '../../../message/msg.ts';
import { toolResultsOf, toolUsesOf } from '../../../message/message-text.ts';
import { arc } from '../../../tokens/arc-profile.ts';
import { countMessage } from '../../../tokens/count-message.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextPolicy,
  headOf,
} from '../context-policy.ts';
import { requestCounter } from '../meter/request-counter.ts';
import { mapContent, resultClearer } from './result-clearer.ts';

export interface ContextEditingOptions {
  /**
   * Maximum number of estimated tokens that a request may have before results are cleared. Default
   * 100,000.
   */
  readonly trigger?: number;
  /** Number of newest results that stay as they are. Default 3. */
  readonly keep?: number;
  /**
   * Minimum number of tokens to free at a time. The oldest results are cleared in batches of at
   * least this size, until the request has at most `trigger` tokens. A batch that would free fewer
   * tokens is not cleared. Requests between two batches begin with the same text, which keeps
   * prompt caches valid. Default 0: clears all results except the newest `keep`.
   */
  readonly clearAtLeast?: number;
  /**
   * Whether a cleared result also clears its tool call: the arguments become `{}`. Default false.
   */
  readonly clearToolInputs?: boolean;
  /** Text that replaces a cleared result. Default `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared and do not count toward `keep`. */
  readonly excludeTools?: readonly string[];
  /** Token profile that counts the request. Default `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Clears old tool results of a request that has become too long. The defaults are those of Spring
 * AI Alibaba's context editing interceptor. Each tool call keeps a result, and the session log does
 * not change. The request may still be longer than `trigger`. Put `fitContext` or `summarization`
 * after this policy to shorten the request further. Throws `CONFIGURATION` for an option of the
 * wrong kind.
 */
export function contextEditing(options: ContextEditingOptions = {}): ContextMiddleware {
  const fields =
    'trigger:count|? keep:count|? clearAtLeast:count|? clearToolInputs:boolean|? placeholder:string|? excludeTools:array|? profile:countText()|?';
  checkOptions('CONFIGURATION', 'clearToolResults()', options, fields);
  checkNames('clearToolResults(): each of exclude', options.excludeTools);
  checkWhole('clearToolResults()', { keep: options.keep });
  const { trigger = 100_000, keep = 3, clearAtLeast = 0, clearToolInputs = false } = options;
  const { placeholder = '[cleared]', excludeTools = [], profile = arc } = options;
  const countGiven = requestCounter(profile);
  const countCleared = requestCounter(profile);
  const { isOurs, clear } = resultClearer(placeholder, excludeTools);
  const clearInputs = inputClearer(excludeTools);

  const fit: ContextPolicy['fit'] = (request) => {
    const { messages } = request;
    const before = countGiven(request);
    const same = { messages, removed: 0, before, after: before };
    if (before <= trigger) return same;
    const start = headOf(request);
    const results: number[] = [];
    for (let index = start; index < messages.length; index += 1)
      if (isOurs(messages[index]!)) results.push(index);
    const fitted = [...messages];
    /**
     * Cleared messages, by index. They enter the request when they free at least `clearAtLeast`
     * tokens.
     */
    let batch = new Map<number, Msg>();
    let [total, freed] = [before, 0];
    for (const index of results.slice(0, Math.max(0, results.length - keep))) {
      const put = (at: number, message: Msg): void => {
        freed +=
          countMessage(batch.get(at) ?? fitted[at]!, profile) - countMessage(message, profile);
        batch.set(at, message);
      };
      put(index, clear(messages[index]!));
      const call = clearToolInputs ? callOf(messages, index) : -1;
      if (call >= start)
        put(call, clearInputs(messages[call]!, batch.get(call) ?? fitted[call]!, messages[index]!));
      if (freed < clearAtLeast) continue;
      for (const [at, message] of batch) fitted[at] = message;
      total -= freed;
      freed = 0;
      batch = new Map();
      if (clearAtLeast && total <= trigger) break;
    }
    if (fitted.every((message, index) => message === messages[index])) return same;
    return {
      messages: fitted,
      removed: 0,
      before,
      after: countCleared({ ...request, messages: fitted }),
    };
  };
  return contextPolicy({ name: 'clearToolResults', fit });
}

/**
 * Returns the index of the message whose tool calls have these results. Returns -1 if there is no
 * such message.
 */
function callOf(messages: readonly Msg[], index: number): number {
  let at = index - 1;
  while (at >= 0 && toolResultsOf(messages[at]!).length) at -= 1;
  const ids = toolResultsOf(messages[index]!).map(({ toolUseId }) => toolUseId);
  return at >= 0 && toolUsesOf(messages[at]!).some(({ id }) => ids.includes(id)) ? at : -1;
}

/**
 * Makes a function that clears the arguments of the tool calls that `results` answer. For the same
 * tool calls of a message, the function returns the same object each time.
 */
function inputClearer(exclude: readonly string[]): (given: Msg, current: Msg, results: Msg) => Msg {
  const known = new WeakMap<Msg, Map<string, Msg>>();
  return (given, current, results) => {
    const ids = toolResultsOf(results).flatMap(({ name, toolUseId }) =>
      exclude.includes(name) ? [] : [toolUseId],
    );
    const cleared = mapContent(current, (block) => {
      if (block.type !== 'tool_use' || !ids.includes(block.id)) return block;
      const { raw: _raw, ...rest } = block;
      return { ...rest, input: {} };
    });
    const key = cleared.content
      .flatMap((block, index) => (block === given.content[index] ? [] : [index]))
      .join();
    const versions = known.get(given) ?? new Map<string, Msg>();
    known.set(given, versions);
    const version = versions.get(key) ?? cleared;
    versions.set(key, version);
    return version;
  };
}
