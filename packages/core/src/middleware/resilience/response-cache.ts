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
  /** Default: 1000 replies in memory, the least recently used go first. */
  readonly store?: ResponseStore;
  /** Milliseconds a reply is used for; default an hour. */
  readonly ttlMs?: number;
  /**
   * Requests with a higher temperature, or without one unless this is `Infinity`, are not looked
   * up. Default 0 (Arc Reactor).
   */
  readonly maxTemperature?: number;
  /** Whether replies that call tools are kept, too. Default false. */
  readonly toolCalls?: boolean;
  /**
   * Requests with the same text share replies: a user's id, say, where one user's are not for
   * another. `undefined`: this request is not looked up. Default: all share.
   */
  readonly scope?: (run: RunInfo | undefined, request: ModelRequest) => string | undefined;
  /** Told of each request that was looked up. For `Metrics.cache`. */
  readonly onLookup?: (lookup: CacheLookup) => void;
  /**
   * Told what the store threw, or that it gave what is no reply; default: the console. The model is
   * asked then.
   */
  readonly onError?: (error: unknown) => void;
  /** Milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
}

export interface CacheLookup {
  /** `exact`: the same request; `semantic`: one that the store says means the same. */
  readonly found: 'exact' | 'semantic' | 'nothing';
  readonly provider: string;
  readonly modelId: string;
  /** Whose it was; absent where no run asked. */
  readonly run?: RunInfo;
}

/**
 * Answers a request that was answered before from a store, without asking the model (Arc Reactor:
 * its response cache). Requests are the same where model, messages, tools and options are, whatever
 * ids and dates they carry. Only whole replies that ended by themselves are kept: none that failed,
 * was cut, ran into its length, was refused, or came from another model by `fallback()`. A reply
 * from the store costs no tokens: its usage is zero, and its message has `metadata.cached`. A
 * request waits for the store, but never fails by it.
 *
 * First in the list it spares all of them; behind `outputGuards()` what it keeps has not
 * been looked at yet, and is each time. Throws `CONFIGURATION` for an option of the wrong kind.
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
  /** What a cache does must fail no request. */
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

/** Nothing where the request is not to be looked up. */
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

/** The providers' words for a reply that nothing cut. */
const ended = /^(stop|end_?turn|stop_sequence|eos|completed?|tool[-_](calls?|use)|function_call)$/i;

/** Whether it says something, and ended by itself. */
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

/** A store is outside: what it gives may be anything. */
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

/** A reply from the store has cost nothing. */
function unpaid(delta: ModelDelta): ModelDelta {
  if (delta.type !== 'finish') return delta;
  return {
    ...delta,
    usage: { inputTokens: 0, outputTokens: 0 },
    metadata: { ...delta.metadata, cached: true },
  };
}
