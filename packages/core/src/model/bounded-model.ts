import { AgentError } from '../error/agent-error.ts';
import { abortables } from './abortable.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from './chat-model.ts';
import { Pace } from './pace.ts';
import { ReplyLength } from './reply-length.ts';
import { withStream } from './wrap-model.ts';

export interface ModelBounds {
  readonly now: () => number;
  /** Maximum length of a reply, in characters. */
  readonly replyLength: number;
}

/**
 * Returns a model whose replies end when the request's signal aborts, even if `model` ignores the
 * signal. Code that reads a reply can then clean up. `bounds`: measures the length and the pace of
 * each reply. Timers can then run even between endless batches, and a reply that is too long fails.
 * Rejects with `MODEL_BAD_RESPONSE` if the model yields anything but arrays.
 */
export function boundedModel(model: ChatModel, bounds?: ModelBounds): ChatModel {
  return withStream(model, (request, context) => boundedReply(model, request, context, bounds));
}

async function* boundedReply(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  bounds: ModelBounds | undefined,
): AsyncGenerator<readonly ModelDelta[], void> {
  const within = abortables(context.signal);
  const length = bounds && new ReplyLength(bounds.replyLength);
  const pace = bounds && new Pace(bounds.now());
  const batches = model.stream(request, context)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await within(batches.next());
      if (done) return;
      if (bounds && !Array.isArray(value)) throw notArray(model);
      length?.add(value);
      yield value;
      const turn = pace?.step(bounds!.now());
      if (turn) await turn;
    }
  } finally {
    // Nobody waits for the cleanup, because it may hang.
    void batches.return?.()?.catch(() => {});
  }
}

function notArray({ modelId }: ChatModel): AgentError {
  const message = `The stream of the model "${modelId}" must yield arrays of deltas.`;
  return new AgentError('MODEL_BAD_RESPONSE', message);
}
