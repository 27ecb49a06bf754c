import { checkFields } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { tell } from '../../error/tell.ts';
import { abortable } from '../../model/abortable.ts';
import type {
  ChatModel,
  ModelContext,
  ModelDelta,
  ModelRequest,
  RunInfo,
} from '../../model/chat-model.ts';
import { joinDeltas } from '../../model/join-deltas.ts';
import { responseKey } from './response-key.ts';
import { memoryResponses, type CachedReply, type ResponseStore } from './response-store.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

export interface ResponseCacheOptions {
  /**
   * Store for the replies. Default: 1000 replies in memory; the least recently used are removed
   * first.
   */
  readonly store?: ResponseStore;
  /** Lifetime of a reply, in milliseconds; default an hour. */
  readonly ttlMs?: number;
  /**
   * Highest temperature of requests that are looked up; default 0 (Arc Reactor). A request without
   * a temperature is looked up only if this is `Infinity`.
   */
  readonly maxTemperature?: number;
  /** Whether to store replies that call tools too. Default false. */
  readonly toolCalls?: boolean;
  /**
   * Returns a text; only requests with the same text share replies. Return a user's id, for
   * example, if users must not see each other's replies. `undefined`: this request is not looked
   * up. Default: all requests share.
   */
  readonly scope?: (run: RunInfo | undefined, request: ModelRequest) => string | undefined;
  /** Called for each request that was looked up. For `Metrics.cache`. */
  readonly onLookup?: (lookup: CacheLookup) => void;
  /**
   * Called if the store threw or returned an invalid reply; the model is then asked. Default: the
   * console.
   */
  readonly onError?: (error: unknown) => void;
  /** Clock in milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
}

export interface CacheLookup {
  /** `exact`: the same request; `semantic`: a request that the store considers equivalent. */
  readonly found: 'exact' | 'semantic' | 'nothing';
  readonly provider: string;
  readonly modelId: string;
  /** The run it belongs to; absent if no run made the request. */
  readonly run?: RunInfo;
}

/**
 * Answers a repeated request from a store, without asking the model (Arc Reactor: its response
 * cache). Requests are the same if model, messages, tools and options are, regardless of ids and
 * dates. Only complete replies that ended by themselves are stored. Replies are not stored if they
 * failed, were cut off, reached their length limit, were refused, or came from another model by
 * `fallback()`. A reply from the store costs no tokens: its usage is zero, and its message has
 * `metadata.cached`. A request waits for the store, but never fails because of it.
 *
 * First in the list, a stored reply skips all other middleware around the model. After
 * `outputGuards()`, replies are stored unchecked, and the guards check them on each use. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function responseCache(options: ResponseCacheOptions = {}): ModelMiddleware {
  const where = 'responseCache()';
  const kinds = 'scope:function|? onLookup:function|? onError:function|? now:function|?';
  checkFields(
    'CONFIGURATION',
    where,
    options,
    `store:object|? ttlMs:count|? maxTemperature:count|? toolCalls:boolean|? ${kinds}`,
  );
  const { store = memoryResponses() } = options;
  checkFields('CONFIGURATION', `${where}: store`, store, 'get:function set:function');
  const cache = { ...options, store };
  return {
    name: 'responseCache',
    wrapModel: (model) =>
      withStream(model, (request, context) => cached(model, request, context, cache)),
  };
}

async function* cached(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  cache: ResponseCacheOptions & { readonly store: ResponseStore },
): AsyncGenerator<readonly ModelDelta[], void> {
  const { store, ttlMs = 3_600_000, toolCalls = false, onLookup, onError, now = Date.now } = cache;
  const { signal, run } = context;
  const { provider, modelId } = model;
  /** Runs cache work so that its failure does not fail the request. */
  const safely = async <T>(work: () => PromiseLike<T> | T): Promise<T | undefined> => {
    try {
      return await abortable(Promise.resolve().then(work), signal);
    } catch (error) {
      signal.throwIfAborted();
      reportFailure('A cache of replies failed.', onError, error);
      return undefined;
    }
  };

  const key = await safely(() => keyOf(model, request, run, cache));
  if (key === undefined) return yield* model.stream(request, context);
  const known = await safely(async () => checked(await store.get(key, request)));
  const hit = known && known.expiresAt > now() ? known : undefined;
  const hitKind = hit?.key === key ? 'exact' : 'semantic';
  const found = hit ? hitKind : 'nothing';
  tell(onLookup, { found, provider, modelId, ...(run && { run }) });
  if (hit) return yield hit.deltas.map(unpaid);

  let asked: Pick<ChatModel, 'provider' | 'modelId'> = model;
  let said: ModelDelta[] = [];
  const onModel: ModelContext['onModel'] = (next) => {
    asked = next;
    context.onModel?.(next);
  };
  for await (const deltas of model.stream(request, { ...context, onModel })) {
    for (const delta of deltas) {
      if (delta.type === 'reset') said = [];
      else said.push(delta);
    }
    yield deltas;
  }
  const isItsOwn = asked.provider === provider && asked.modelId === modelId;
  if (!isItsOwn || !isWhole(said) || (!toolCalls && said.some(({ type }) => type === 'tool-input')))
    return;
  const expiresAt = Math.min(now() + ttlMs, Number.MAX_SAFE_INTEGER);
  await safely(() => store.set({ key, expiresAt, deltas: joinDeltas(said) }, request));
}

/** Returns the key of a request; `undefined` if it must not be looked up. */
async function keyOf(
  model: ChatModel,
  request: ModelRequest,
  run: RunInfo | undefined,
  { scope = () => '', maxTemperature = 0 }: ResponseCacheOptions,
): Promise<string | undefined> {
  if ((request.temperature ?? Infinity) > maxTemperature) return undefined;
  const within = scope(run, request);
  return typeof within === 'string' ? responseKey(model, request, within) : undefined;
}

/** Finish reasons of providers for a reply that was not cut off. */
const ended = /^(stop|end_?turn|stop_sequence|eos|completed?|tool[-_](calls?|use)|function_call)$/i;

/** Returns whether a reply has content and ended by itself. */
function isWhole(deltas: readonly ModelDelta[]): boolean {
  const last = deltas.at(-1);
  const says = deltas.some((delta) =>
    delta.type === 'text' ? delta.delta : delta.type === 'tool-input' || delta.type === 'file',
  );
  return says && last?.type === 'finish' && ended.test(last.reason);
}

const fields: Readonly<Partial<Record<ModelDelta['type'], string>>> = {
  text: 'id:string delta:string',
  thinking: 'id:string delta:string',
  'tool-input': 'index:count delta:string id:string|? name:string|?',
  file: 'mediaType:string data:string',
  finish: 'reason:string',
};

/** Checks a reply from the store, which may return anything. */
function checked(reply: CachedReply | null | undefined): CachedReply | undefined {
  if (reply === undefined || reply === null) return undefined;
  checkFields('INVALID_STATE', 'A cached reply', reply, 'key:string expiresAt:number deltas:array');
  for (const delta of reply.deltas) {
    checkFields('INVALID_STATE', 'A cached delta', delta, `type:${Object.keys(fields).join('|')}`);
    checkFields('INVALID_STATE', 'A cached delta', delta, fields[delta.type]!);
  }
  checkFields('INVALID_STATE', "A cached reply's end", reply.deltas.at(-1), 'type:finish');
  return reply;
}

/** Sets the usage of a stored reply to zero and marks it as cached. */
function unpaid(delta: ModelDelta): ModelDelta {
  if (delta.type !== 'finish') return delta;
  return {
    ...delta,
    usage: { inputTokens: 0, outputTokens: 0 },
    metadata: { ...delta.metadata, cached: true },
  };
}
