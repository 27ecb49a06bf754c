import { abortables } from './abortable.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from './chat-model.ts';
import { Pace } from './pace.ts';
import { ReplyLength, usualReplyLength } from './reply-length.ts';
import { withStream } from './wrap-model.ts';

export interface ModelBounds {
  readonly now: () => number;
  /** Maximum length of a reply, in characters. Default: 1,000,000. */
  readonly replyLength?: number;
}

/**
 * Returns a model whose replies end when the request's signal aborts, even if `model` ignores the
 * signal. Code that reads a reply can then clean up. Timers can run even between endless batches.
 * A reply that is too long fails here, before other code collects it in memory. So does an
 * incomplete reply, so that middleware can try again.
 */
export function boundedModel(model: ChatModel, bounds: ModelBounds): ChatModel {
  return withStream(model, (request, context) => ({
    [Symbol.asyncIterator]: () => boundedReply(model, request, context, bounds),
  }));
}

function boundedReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  { now, replyLength = usualReplyLength }: ModelBounds,
): AsyncIterator<readonly ModelDelta[]> {
  const within = abortables(context.signal);
  const pace = new Pace(now());
  const length = new ReplyLength(replyLength);
  const batches = model.stream(request, context)[Symbol.asyncIterator]();
  // Nobody waits for the cleanup, because it may hang.
  const leave = (): void => void batches.return?.()?.catch(() => {});
  return {
    async next() {
      const turn = pace.step(now());
      if (turn) await turn;
      try {
        const next = await within(batches.next());
        if (!next.done) length.add(next.value);
        return next;
      } catch (error) {
        leave();
        throw error;
      }
    },
    async return() {
      leave();
      return { done: true, value: undefined };
    },
  };
}
