import { AgentError } from '../error/agent-error.ts';
import { abortable, onAbort } from '../wait/abort.ts';
import type { ChatModel, ModelContext, ModelRequest, ReplyStream } from './chat-model.ts';
import { TimerYield } from '../wait/timer-yield.ts';
import { ReplyLength, defaultReplyLength } from './reply-length.ts';
import { withStream } from './wrap-model.ts';

/** How long a reply of `boundedModel()` may be. */
export interface ModelBounds {
  /** Clock, in milliseconds. Default: `Date.now`. */
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
  return withStream(model, (request, context) => boundedReply(model, request, context, bounds));
}

/**
 * Returns a model whose replies end when the request's signal aborts, even if `model` ignores the
 * signal. Code that reads a reply can then clean up.
 */
export function abortableModel(model: ChatModel): ChatModel {
  return withStream(model, (request, context) => abortableReply(model, request, context));
}

async function* boundedReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  bounds: ModelBounds,
): ReplyStream {
  const { now = Date.now, replyLength = context.replyLength ?? defaultReplyLength } = bounds;
  const length = new ReplyLength(replyLength);
  const timerYield = new TimerYield(now());
  for await (const deltas of abortableReply(model, request, context)) {
    if (!Array.isArray(deltas)) throw notArrayError(model);
    length.add(deltas);
    yield deltas;
    const pause = timerYield.tick(now());
    if (pause) await pause;
  }
}

/** Not a generator, because each wrapper around a model would add its promises to each delta. */
function abortableReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
): ReturnType<ChatModel['stream']> {
  return {
    [Symbol.asyncIterator]() {
      const { signal } = context;
      const batches = model.stream(request, context)[Symbol.asyncIterator]();
      // Nobody waits for the cleanup, because it may hang.
      const leave = (): void => void batches.return?.()?.catch(() => {});
      const off = onAbort(signal, leave);
      return {
        next: () => abortable(batches.next(), signal),
        return() {
          off();
          leave();
          return Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}

function notArrayError({ modelId }: ChatModel): AgentError {
  const message = `The stream of the model "${modelId}" must yield arrays of deltas.`;
  return new AgentError('MODEL_BAD_RESPONSE', message);
}
