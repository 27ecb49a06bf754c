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
  /** Estimated tokens of a request; only a longer one is edited. Default 100,000. */
  readonly trigger?: number;
  /** Newest results that stay as they are. Default 3. */
  readonly keep?: number;
  /**
   * Tokens that are freed at a time: the oldest results go in batches of so many, until the request
   * is no longer than `trigger`; what would free less stays. Requests in between begin with the
   * same text, so that prompt caches hold. Default 0: all but `keep` go.
   */
  readonly clearAtLeast?: number;
  /** Whether the arguments of their calls are cleared as well, to `{}`. Default false. */
  readonly clearToolInputs?: boolean;
  /** Stands in their place. Default `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared, and not counted by `keep`. */
  readonly excludeTools?: readonly string[];
  /** How tokens are counted. Default `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Clears old tool results of a request that has grown too long, with the defaults of Spring AI
 * Alibaba's context editing interceptor. The calls, and that they were
 * answered, stay, and the log keeps all. It makes no promise to come below `trigger`: put
 * `fitContext` or `summarization` behind it. Throws `CONFIGURATION` for an option
 * of another kind.
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
    /** What is cleared once it is worth it. */
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

/** The message whose calls these results are of; -1 where it is not there. */
function callOf(messages: readonly Msg[], index: number): number {
  let at = index - 1;
  while (at >= 0 && toolResultsOf(messages[at]!).length) at -= 1;
  const ids = toolResultsOf(messages[index]!).map(({ toolUseId }) => toolUseId);
  return at >= 0 && toolUsesOf(messages[at]!).some(({ id }) => ids.includes(id)) ? at : -1;
}

/**
 * Clears the arguments of the calls that `results` are of; for the same calls of a message the same
 * object each time.
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
