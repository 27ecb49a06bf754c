import { AgentError, misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import { Deadline } from '../wait/deadline.ts';
import { monotonicNow } from '../wait/monotonic.ts';
import { hasContent } from '../model/reply/deltas.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';

/** How long a model request may take. */
export interface ModelTimeoutOptions {
  /** Maximum time to the first content, in milliseconds. Default: no limit. */
  readonly firstDeltaMs?: number;
  /** Maximum time without content within a reply, in milliseconds. Default: no limit. */
  readonly silenceMs?: number;
  /**
   * Maximum time for the whole reply, in milliseconds. Time that the reader takes does not count.
   * Default: no limit.
   */
  readonly totalMs?: number;
  /** Clock for durations, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/**
 * Ends a model request that takes too long with `MODEL_TIMEOUT` (retryable), and aborts the model's
 * signal. `firstDeltaMs` alone does not limit a reply that has begun. If `retry()` comes before
 * this middleware in the list, the limits apply to each try. Otherwise they apply to all tries and
 * waits together. Throws `CONFIGURATION` if no limit is given, or if a limit is not a number of 0
 * or more.
 */
export function modelTimeout(options: ModelTimeoutOptions): ModelMiddleware {
  const where = 'modelTimeout()';
  checkOptions(where, options, modelTimeoutOptions);
  if ((options.firstDeltaMs ?? options.silenceMs ?? options.totalMs) === undefined)
    throw misconfigured(`${where} needs firstDeltaMs, silenceMs or totalMs.`);
  return {
    name: 'modelTimeout',
    wrapModel: (model) => withStream(model, timedStream(model, options)),
  };
}

const modelTimeoutOptions: OptionTable<ModelTimeoutOptions> = {
  firstDeltaMs: optional(nonNegative),
  silenceMs: optional(nonNegative),
  totalMs: optional(nonNegative),
  now: optional(func),
};

type Deltas = readonly ModelDelta[];

function timedStream(model: ChatModel, options: ModelTimeoutOptions): ChatModel['stream'] {
  const { firstDeltaMs = Infinity, silenceMs = Infinity } = options;
  const { totalMs = Infinity, now = monotonicNow } = options;
  return async function* (request, context) {
    let remainingMs = totalMs;
    let silentMs = 0;
    const toError = (ms: number): AgentError => {
      const limit = ms === remainingMs + silentMs ? totalMs : ms;
      const message = `The model took longer than ${limit} ms`;
      return new AgentError('MODEL_TIMEOUT', message, { retryable: true });
    };
    const deadline = new Deadline(context.signal, Infinity, toError);
    let hasBegun = false;
    let iterator: AsyncIterator<Deltas> | undefined;
    try {
      const { signal } = deadline;
      iterator = model.stream(request, { ...context, signal })[Symbol.asyncIterator]();
      for (;;) {
        if (remainingMs <= 0) throw toError(remainingMs + silentMs);
        const from = now();
        const limitMs = Math.min(hasBegun ? silenceMs : firstDeltaMs, remainingMs + silentMs);
        const read = (): Promise<IteratorResult<Deltas>> => iterator!.next();
        const next = await deadline.wait(read, limitMs, silentMs);
        if (next.done) return;
        const waitedMs = now() - from;
        remainingMs -= waitedMs;
        const isHeard = hasContent(next.value);
        silentMs = isHeard ? 0 : silentMs + waitedMs;
        hasBegun ||= isHeard;
        yield next.value;
      }
    } finally {
      deadline.end();
      // Does not wait for `return()`: a model that does not answer may also not answer here.
      iterator?.return?.()?.catch(() => {});
    }
  };
}
