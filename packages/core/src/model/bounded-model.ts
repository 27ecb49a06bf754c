import { AgentError } from '../error/agent-error.ts';
import { abortable } from '../wait/abort.ts';
import type {
  ChatModel,
  ModelContext,
  ModelDelta,
  ModelRequest,
  ReplyStream,
} from './chat-model.ts';
import { monotonicNow } from '../wait/monotonic.ts';
import { TimerYield } from '../wait/timer-yield.ts';
import { ReplyLength, defaultReplyLength } from './reply-length.ts';
import { withStream } from './wrap-model.ts';

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
 * is too long fails with `MODEL_REPLY_TOO_LONG`, and one that yields anything but arrays fails with
 * `MODEL_BAD_RESPONSE`. A reply ends when the request's signal aborts, even if the model ignores
 * the signal. Timers run between endless batches.
 */
export function boundedModel(model: ChatModel, bounds: ModelBounds = {}): ChatModel {
  return withStream(model, (request, context) => {
    const { now = monotonicNow, replyLength = context.replyLength ?? defaultReplyLength } = bounds;
    const length = new ReplyLength(replyLength);
    const timerYield = new TimerYield(now());
    return abortableReply(model, request, context, (deltas) => {
      if (!Array.isArray(deltas)) throw notArrayError(model);
      length.add(deltas);
      return timerYield.tick(now());
    });
  });
}

/**
 * Returns a model whose replies end when the request's signal aborts, even if `model` ignores the
 * signal. Code that reads a reply can then clean up.
 */
export function abortableModel(model: ChatModel): ChatModel {
  return withStream(model, (request, context) => abortableReply(model, request, context));
}

/** `check`: throws if a batch is wrong, or returns a promise to wait for before the next one. */
async function* abortableReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  check?: (deltas: readonly ModelDelta[]) => Promise<void> | undefined,
): ReplyStream {
  const batches = model.stream(request, context)[Symbol.asyncIterator]();
  let hasEnded = false;
  try {
    for (;;) {
      const { done = false, value } = await abortable(batches.next(), context.signal);
      hasEnded = done;
      if (done) return;
      const pause = check?.(value);
      yield value;
      if (pause) await pause;
    }
  } finally {
    // Nobody waits for the cleanup, because it may hang.
    if (!hasEnded) void batches.return?.()?.catch(() => {});
  }
}

function notArrayError({ modelId }: ChatModel): AgentError {
  const message = `The stream of the model "${modelId}" must yield arrays of deltas.`;
  return new AgentError('MODEL_BAD_RESPONSE', message);
}
