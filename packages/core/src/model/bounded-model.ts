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
 * signal. Timers can run even between endless batches. A reply that is too long fails here, before
 * other code collects it in memory.
 */
export function boundedModel(
  model: ChatModel,
  { now, replyLength = usualReplyLength }: ModelBounds,
): ChatModel {
  return withStream(model, (request, context) => ({
    [Symbol.asyncIterator]() {
      const pace = new Pace(now());
      const length = new ReplyLength(replyLength);
      const reply = abortableReply(model, request, context);
      return {
        async next() {
          const turn = pace.step(now());
          if (turn) await turn;
          const next = await reply.next();
          if (next.done) return next;
          try {
            length.add(next.value);
          } catch (error) {
            void reply.return();
            throw error;
          }
          return next;
        },
        return: () => reply.return(),
      };
    },
  }));
}

/**
 * Returns a model whose replies end when the request's signal aborts, even if `model` ignores the
 * signal. Code that reads a reply can then clean up.
 */
export function abortableModel(model: ChatModel): ChatModel {
  return withStream(model, (request, context) => ({
    [Symbol.asyncIterator]: () => abortableReply(model, request, context),
  }));
}

type Batches = Required<Omit<AsyncIterator<readonly ModelDelta[]>, 'throw'>>;

function abortableReply(model: ChatModel, request: ModelRequest, context: ModelContext): Batches {
  const within = abortables(context.signal);
  const batches = model.stream(request, context)[Symbol.asyncIterator]();
  // Nobody waits for the cleanup, because it may hang.
  const leave = (): void => void batches.return?.()?.catch(() => {});
  return {
    async next() {
      try {
        return await within(batches.next());
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
