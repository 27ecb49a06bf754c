import type { OptionTable } from '../../error/options/option-table.ts';
import { func, nonNegative, optional } from '../../error/options/kinds.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { AgentError } from '../../error/agent-error.ts';
import { abortable } from '../../wait/abort.ts';
import type {
  ChatModel,
  ModelContext,
  ModelDelta,
  ModelRequest,
  ReplyStream,
} from '../chat-model.ts';
import { monotonicNow } from '../../wait/monotonic.ts';
import { checkDeltas } from './check-deltas.ts';
import { TimerYield } from '../../wait/timer-yield.ts';
import { ReplyLength, defaultReplyLength } from './reply-length.ts';
import { withStream } from '../wrap-model.ts';

/** How long a reply of `boundedModel()` may be. */
export interface ModelBounds {
  /** Clock for durations, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
  /**
   * Maximum length of a reply, in characters. Default: `limits.replyLength` of the agent that makes
   * the request, or 1,000,000 without an agent.
   */
  readonly replyLength?: number;
}

/**
 * Limits the length of a model's replies, and ends them at an abort. An agent bounds its own model,
 * and `fallback()` bounds its models. Use it for any other model that middleware asks. A reply that
 * is too long fails with `MODEL_REPLY_TOO_LONG`, and one that yields anything but arrays of deltas
 * fails with `MODEL_BAD_RESPONSE`. A reply ends when the request's signal aborts, even if the model
 * ignores the signal. Timers run between endless batches.
 */
export function boundedModel(model: ChatModel, bounds: ModelBounds = {}): ChatModel {
  checkOptions('boundedModel()', bounds, modelBounds);
  return withStream(model, (request, context) => {
    const { now = monotonicNow, replyLength = context.replyLength ?? defaultReplyLength } = bounds;
    const length = new ReplyLength(replyLength);
    const timerYield = new TimerYield(now());
    return abortableReply(model, request, context, (deltas) => {
      checkDeltas(`The model "${model.modelId}"`, deltas);
      length.add(deltas);
      return timerYield.tick(now());
    });
  });
}

const modelBounds: OptionTable<ModelBounds> = {
  now: optional(func),
  replyLength: optional(nonNegative),
};

/**
 * Returns the model of a wrapper. Its replies end when the request's signal aborts, even if the
 * wrapper ignores the signal. Code that reads a reply can then clean up. Anything but an array of
 * deltas fails with `MODEL_BAD_RESPONSE`. The error names the wrapper: `who`.
 */
export function wrapperModel(model: ChatModel, who: string): ChatModel {
  return withStream(model, (request, context) =>
    abortableReply(model, request, context, (deltas) => checkDeltas(who, deltas)),
  );
}

/** `check`: throws if a batch is wrong. May return a promise to wait for before the next batch. */
async function* abortableReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  check: (deltas: readonly ModelDelta[]) => Promise<void> | void,
): ReplyStream {
  const batches = batchesOf(model, request, context);
  let hasEnded = false;
  try {
    for (;;) {
      const { done = false, value } = await abortable(batches.next(), context.signal);
      hasEnded = done;
      if (done) return;
      const pause = check(value);
      yield value;
      if (pause) await pause;
    }
  } finally {
    // Nobody waits for the cleanup, because it may hang.
    if (!hasEnded) void batches.return?.()?.catch(() => {});
  }
}

/** Starts a reply. Throws `MODEL_BAD_RESPONSE` if the model returns no async iterable. */
function batchesOf(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
): AsyncIterator<readonly ModelDelta[]> {
  const reply: Partial<ReturnType<ChatModel['stream']>> = Object(model.stream(request, context));
  const begin = reply[Symbol.asyncIterator];
  if (begin) return begin.call(reply);
  const what = `stream() of the model "${model.modelId}"`;
  const message = `${what} must return an async iterable, such as an async generator.`;
  throw new AgentError('MODEL_BAD_RESPONSE', message);
}
