import { AgentError, messageOf } from '../../error/agent-error.ts';
import { classifyError } from '../../error/classify-error.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

/**
 * Adds codes to the errors of a custom model, as `classifyError` does (Arc Reactor). Without this
 * middleware, an error that is not an `AgentError` ends the agent call with `INTERNAL`.
 */
export function modelErrors(): ModelMiddleware {
  return {
    name: 'modelErrors',
    wrapModel: (model) =>
      withStream(model, (request, context) => classified(model, request, context)),
  };
}

async function* classified(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
): AsyncGenerator<readonly ModelDelta[]> {
  try {
    yield* model.stream(request, context);
  } catch (error) {
    const isCoded = AgentError.is(error) && error.code !== 'INTERNAL';
    if (isCoded || context.signal.aborted) throw error;
    const { code, transient: retryable, retryAfterMs } = classifyError(error);
    throw new AgentError(code, messageOf(error), {
      cause: error,
      retryable,
      ...(retryAfterMs !== undefined && { details: { retryAfterMs } }),
    });
  }
}
