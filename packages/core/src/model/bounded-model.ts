import { abortables } from './abortable.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from './chat-model.ts';
import { Pace } from './pace.ts';
import { withStream } from './wrap-model.ts';

/**
 * Returns the model with replies that end with the request's signal, even if the model ignores it.
 * Code that reads a reply can then clean up. Timers get their turn between endless batches, too.
 */
export function boundedModel(model: ChatModel, now: () => number): ChatModel {
  return withStream(model, (request, context) => ({
    [Symbol.asyncIterator]: () => boundedReply(model, request, context, now),
  }));
}

function boundedReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  now: () => number,
): AsyncIterator<readonly ModelDelta[]> {
  const within = abortables(context.signal);
  const pace = new Pace(now());
  const batches = model.stream(request, context)[Symbol.asyncIterator]();
  // Nobody waits for the cleanup, because it may hang.
  const leave = (): void => void batches.return?.()?.catch(() => {});
  return {
    async next() {
      const turn = pace.step(now());
      if (turn) await turn;
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
