import type { EventOf } from '../event/agent-event.ts';
import { perRun } from '../agent/per-run.ts';
import type { Middleware } from '../agent/middleware.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import { outputToolName } from '../message/output-tool.ts';
import { metadataOf, wordsBesideCall } from '../middleware/text-protocol/corrections.ts';

/**
 * Makes the reply to a request without tools final (Arc Reactor: `activeTools.isEmpty()`). Removes
 * the tool calls of the reply and keeps its text. The model can still call the tool of a structured
 * answer.
 */
export function finalWithoutTools(): Middleware & ModelMiddleware {
  const stateOf = perRun(() => ({ isFinal: false }));
  return {
    name: 'finalWithoutTools',
    onError: 'fail',
    wrapModel: (model) =>
      withStream(model, (request, context) =>
        hasNoTools(request)
          ? withoutCalls(model, request, context)
          : model.stream(request, context),
      ),
    // Tool calls written in the text of a reply are known only in `post-reasoning`, not in the
    // wrapped model.
    on: {
      'pre-reasoning': {
        handle(event, _control, context) {
          stateOf(context).isFinal = hasNoTools(event);
        },
        priority: 10_000,
      },
      'post-reasoning': {
        handle: (event, _control, context) =>
          stateOf(context).isFinal ? withoutTextCalls(event) : undefined,
        // Before all other hooks, so that they see the answer.
        priority: -10_000,
      },
    },
  };
}

function hasNoTools({ tools }: Pick<ModelRequest, 'tools'>): boolean {
  return tools.every(({ name }) => name === outputToolName);
}

/**
 * Removes the tool calls from the reply. Also removes the metadata that makes the text protocol ask
 * the model for a correction.
 */
function withoutTextCalls(event: EventOf<'post-reasoning'>): EventOf<'post-reasoning'> | undefined {
  const { message } = event;
  const words = wordsBesideCall(message)?.trim();
  const kept = message.content.filter(
    (block) => block.type !== 'tool_use' || block.name === outputToolName,
  );
  if (words === undefined && kept.length === message.content.length) return undefined;
  const said = words ? [{ type: 'text', text: words } as const] : [];
  const metadata = metadataOf(message);
  return { ...event, message: { ...message, content: [...kept, ...said], metadata } };
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
