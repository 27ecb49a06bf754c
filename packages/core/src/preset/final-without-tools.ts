import type { Middleware } from '../loop/use/middleware.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import { outputToolName } from '../output/output-tool.ts';

/**
 * Makes the reply to a request without tools final (Arc Reactor: `activeTools.isEmpty()`). Removes
 * the tool calls of the reply and keeps its text. The model can still call the tool of a structured
 * answer.
 */
export function finalWithoutTools(): Middleware & ModelMiddleware {
  return {
    name: 'finalWithoutTools',
    wrapModel: (model) =>
      withStream(model, (request, context) =>
        request.tools.every(({ name }) => name === outputToolName)
          ? withoutCalls(model, request, context)
          : model.stream(request, context),
      ),
  };
}

async function* withoutCalls(
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
): AsyncGenerator<readonly ModelDelta[]> {
  const kept = new Set<number>();
  const isKept = (delta: ModelDelta): boolean => {
    if (delta.type !== 'tool-input') return true;
    const { index, name } = delta;
    if (name === outputToolName && request.tools.length) kept.add(index);
    // After a reset, the index may belong to another tool call.
    else if (name) kept.delete(index);
    return kept.has(index);
  };
  for await (const deltas of model.stream(request, context)) yield deltas.filter(isKept);
}
