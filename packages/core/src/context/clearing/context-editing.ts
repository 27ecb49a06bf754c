import { checkFields } from '../../error/check-fields.ts';
import { checkNames, checkWhole } from '../../error/check-values.ts';
import type { Msg } from '../../message/msg.ts';
import { toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { countMessage } from '../../tokens/count-message.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextPolicy } from '../../loop/context-policy.ts';
import { requestCounter } from '../meter/request-counter.ts';
import { headOf } from '../meter/request-head.ts';
import { mapContent, resultClearer } from './result-clearer.ts';

export interface ContextEditingOptions {
  /** Longest request, in estimated tokens, that is left alone. Default 100,000. */
  readonly trigger?: number;
  /** Number of newest results that stay as they are. Default 3. */
  readonly keep?: number;
  /**
   * Fewest tokens to free at a time. The oldest results go in batches of at least this size, until
   * the request is no longer than `trigger`. A batch that would free less stays. Requests in
   * between begin with the same text, so that prompt caches hold. Default 0: clears all but `keep`
   * results.
   */
  readonly clearAtLeast?: number;
  /** Whether the arguments of the cleared results' calls become `{}`. Default false. */
  readonly clearToolInputs?: boolean;
  /** Text that replaces a cleared result. Default `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared and do not count toward `keep`. */
  readonly excludeTools?: readonly string[];
  /** How tokens are counted. Default `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Clears old tool results of a request that has grown too long, with the defaults of Spring AI
 * Alibaba's context editing interceptor. The calls stay, each with an answer, and the log keeps
 * everything. The request may stay longer than `trigger`: put `fitContext` or `summarization` after
 * it. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function contextEditing(options: ContextEditingOptions = {}): ContextPolicy {
  const fields =
    'trigger:count|? keep:count|? clearAtLeast:count|? clearToolInputs:boolean|? placeholder:string|? excludeTools:array|? profile:countText()|?';
  checkFields('CONFIGURATION', 'clearToolResults()', options, fields);
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
    /** Cleared messages, applied once they free at least `clearAtLeast` tokens. */
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
  return { name: 'clearToolResults', fit };
}

/** Returns the index of the message whose calls these results answer, or -1 if it is not there. */
function callOf(messages: readonly Msg[], index: number): number {
  let at = index - 1;
  while (at >= 0 && toolResultsOf(messages[at]!).length) at -= 1;
  const ids = toolResultsOf(messages[index]!).map(({ toolUseId }) => toolUseId);
  return at >= 0 && toolUsesOf(messages[at]!).some(({ id }) => ids.includes(id)) ? at : -1;
}

/**
 * Makes a function that clears the arguments of the calls that `results` answer. It returns the
 * same object each time for the same calls of a message.
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
