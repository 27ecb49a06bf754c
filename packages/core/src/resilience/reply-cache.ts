import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import {
  array,
  boolean,
  func,
  nonNegative,
  number,
  object,
  oneOf,
  optional,
  string,
} from '../error/options/kinds.ts';
import type { FieldTable, OptionTable } from '../error/options/option-table.ts';
import { callListener, reportFailure } from '../error/report-failure.ts';
import type { Awaitable } from '../event/hook.ts';
import {
  runInfo,
  type ChatModel,
  type ModelDelta,
  type ModelRequest,
  type RunInfo,
} from '../model/chat-model.ts';
import { joinDeltas } from '../model/reply/deltas.ts';
import { finishMeaning } from '../model/finish-reason.ts';
import { watchReply } from '../model/reply/watch-reply.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import { abortable } from '../wait/abort.ts';
import { inMemoryReplies, type CachedReply, type ReplyCacheStore } from './cache-stores.ts';
import { cacheKey } from './cache-key.ts';

/** Where `replyCache()` keeps replies, for how long, and which ones. */
export interface ReplyCacheOptions {
  /**
   * Store for the replies. Default: keeps 1000 replies in memory and removes the least recently
   * used reply first.
   */
  readonly store?: ReplyCacheStore;
  /** Time that a stored reply is used, in milliseconds. Default: one hour. */
  readonly ttlMs?: number;
  /**
   * Maximum temperature of requests that use the cache. Default: 0. A request without a temperature
   * uses the cache only if this option is `Infinity`. Source: Arc Reactor.
   */
  readonly maxTemperature?: number;
  /** Whether to store replies with tool calls too. Default: false. */
  readonly toolCalls?: boolean;
  /**
   * Returns a text: only requests with the same text share replies. For example, return the id of
   * the user if users must not see each other's replies. If it returns `undefined`, the request
   * does not use the cache. Default: all requests share replies.
   */
  readonly scope?: (run: RunInfo | undefined, request: ModelRequest) => string | undefined;
  /** Function that is called for each request that uses the cache. */
  readonly onLookup?: (lookup: CacheLookup) => void;
  /**
   * Function that gets the error if the store throws or returns an invalid reply. The model is then
   * asked. Default: logs the error to the console.
   */
  readonly onError?: (error: unknown) => void;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Whether `replyCache()` had a reply to a request. */
export interface CacheLookup {
  /**
   * `exact`: the reply to the same request. `semantic`: the reply to a request that the store
   * considers equivalent.
   */
  readonly found: 'exact' | 'semantic' | 'nothing';
  readonly provider: string;
  readonly modelId: string;
  /** Run that made the request. Absent if it was made outside a run. */
  readonly run?: RunInfo;
}

/**
 * Answers a repeated request from a store, without asking the model. Two requests are the same if
 * their model, messages, tools and options are the same. Ids and dates of messages do not count.
 *
 * A reply is stored only if it is complete. A reply is not stored if it failed, is incomplete,
 * reached its length limit or was refused. A reply of another model of `fallback()` is not stored
 * either. A stored reply costs no tokens: its usage is zero, and its message has `metadata.cached`.
 * A request waits for the store, but a failure of the store does not fail the request.
 *
 * If the cache is first in the list, a stored reply skips all other middleware around the model. If
 * the cache comes after `outputGuards()`, replies are stored before the guards check them, and the
 * guards check each stored reply when it is used. Throws `CONFIGURATION` for an option of the wrong
 * kind. Source: Arc Reactor, its response cache.
 */
export function replyCache(options: ReplyCacheOptions = {}): ModelMiddleware {
  const where = 'replyCache()';
  checkOptions(where, options, replyCacheOptions);
  const { store = inMemoryReplies() } = options;
  checkFields(`${where}: store`, store, { get: func, set: func });
  return {
    name: 'replyCache',
    wrapModel: (model) => withStream(model, cachedStream(model, { ...options, store })),
  };
}

const replyCacheOptions: OptionTable<ReplyCacheOptions> = {
  store: optional(object),
  ttlMs: optional(nonNegative),
  maxTemperature: optional(nonNegative),
  toolCalls: optional(boolean),
  scope: optional(func),
  onLookup: optional(func),
  onError: optional(func),
  now: optional(func),
};

function cachedStream(
  model: ChatModel,
  cache: ReplyCacheOptions & { readonly store: ReplyCacheStore },
): ChatModel['stream'] {
  const { store, ttlMs = 3_600_000, toolCalls = false, onLookup, onError, now = Date.now } = cache;
  const { provider, modelId } = model;
  return async function* (request, context) {
    const { signal, run } = context;
    /** Returns `undefined` if the work with the store fails, so that the request does not fail. */
    const safely = async <T>(work: () => Awaitable<T>): Promise<T | undefined> => {
      try {
        return await abortable(Promise.resolve().then(work), signal);
      } catch (error) {
        signal.throwIfAborted();
        reportFailure('A cache of replies failed.', onError, error);
        return undefined;
      }
    };
    const key = await safely(() => cacheKey(model, request, run, cache));
    if (key === undefined) return yield* model.stream(request, context);
    const entry = await safely(async () => checkReply(await store.get(key, request)));
    const hit = entry && entry.expiresAt > now() ? entry : undefined;
    const hitKind = hit?.key === key ? 'exact' : 'semantic';
    const lookup = { found: hit ? hitKind : 'nothing', provider, modelId } as const;
    callListener(onLookup, { ...lookup, ...(run && { run: runInfo(run) }) });
    if (hit) return yield hit.deltas.map(withoutUsage);
    let reply: ModelDelta[] = [];
    let isOther = false;
    yield* watchReply(model, request, context, {
      asks(answeringModel) {
        isOther = provider !== answeringModel.provider || modelId !== answeringModel.modelId;
      },
      add(deltas) {
        const resetIndex = deltas.findLastIndex(({ type }) => type === 'reset');
        if (resetIndex >= 0) reply = [];
        reply.push(...deltas.slice(resetIndex + 1));
      },
    });
    const isLeftOut = !toolCalls && reply.some(({ type }) => type === 'tool-input');
    if (isOther || isLeftOut || !isComplete(reply)) return;
    const expiresAt = Math.min(now() + ttlMs, Number.MAX_SAFE_INTEGER);
    const stored = { key, expiresAt, deltas: joinDeltas(reply) };
    await safely(() => store.set(stored, request));
  };
}

/** Returns whether a reply has content and is complete. */
function isComplete(deltas: readonly ModelDelta[]): boolean {
  const last = deltas.at(-1);
  const hasContent = deltas.some((delta) =>
    delta.type === 'text' ? delta.delta : delta.type === 'tool-input' || delta.type === 'file',
  );
  return (
    hasContent && last?.type === 'finish' && /^(complete|calls)$/.test(finishMeaning(last.reason))
  );
}

/** Checks a reply from the store, which may contain invalid data. */
function checkReply(reply: CachedReply | null | undefined): CachedReply | undefined {
  if (reply === undefined || reply === null) return undefined;
  checkFields('A cached reply', reply, cachedReply, 'INVALID_STATE');
  checkFields("A cached reply's end", reply.deltas.at(-1), replyEnd, 'INVALID_STATE');
  return reply;
}

const cachedReply: FieldTable<CachedReply> = { key: string, expiresAt: number, deltas: array };
const replyEnd = { type: oneOf('finish') };

/** Sets the usage of a stored reply to zero and marks it as cached. */
function withoutUsage(delta: ModelDelta): ModelDelta {
  if (delta.type !== 'finish') return delta;
  return {
    ...delta,
    usage: { inputTokens: 0, outputTokens: 0 },
    metadata: { ...delta.metadata, cached: true },
  };
}
