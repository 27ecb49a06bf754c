import type { Middleware } from '../agent/middleware.ts';
import { metadataOf } from '../message/metadata.ts';
import type { Msg } from '../message/msg.ts';
import { outputToolName } from '../schema/output-format.ts';
import { withoutMark } from '../middleware/text-protocol/corrections.ts';
import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';

/**
 * Makes the reply to a request without tools final (Arc Reactor: `activeTools.isEmpty()`). Removes
 * the tool calls of the reply and keeps its text. The model can still call the tool of a structured
 * answer.
 */
export function finalWithoutTools(): Middleware & ModelMiddleware {
  return {
    name: 'finalWithoutTools',
    wrapModel: (model) =>
      withStream(model, (request, context) => {
        const stream = model.stream(request, context);
        return hasNoTools(request) ? filtered(stream, outputCallsOnly(request)) : stream;
      }),
    // Only the whole reply shows which tool calls its text contains.
    wrapReply: (next) => async (reply, context, steps) => {
      if (!reply.request || !hasNoTools(reply.request)) return next(reply);
      const message = withoutTextCalls(reply.message);
      const isChanged = message !== reply.message;
      if (isChanged) await steps.emit('step-reset', { reason: 'final', replacement: message });
      // What is left of the reply needs no correction.
      const isFinal = isChanged || !message.content.length;
      return next(isFinal ? { ...reply, message, isFinal } : reply);
    },
  };
}

function hasNoTools({ tools }: Pick<ModelRequest, 'tools'>): boolean {
  return tools.every(isOutputTool);
}

function isOutputTool({ name }: { readonly name: string }): boolean {
  return name === outputToolName;
}

/**
 * Removes the tool calls from the reply. Also removes the metadata that makes the text protocol ask
 * the model for a correction.
 */
function withoutTextCalls(message: Msg): Msg {
  const text = metadataOf(message).invalidReply?.proseText?.trim();
  const blocks = message.content.filter((one) => one.type !== 'tool_use' || isOutputTool(one));
  if (text === undefined && blocks.length === message.content.length) return message;
  const textBlocks = text ? [{ type: 'text', text } as const] : [];
  return { ...withoutMark(message), content: [...blocks, ...textBlocks] };
}

/** Returns a function that says whether a delta stays: it is no part of a removed tool call. */
function outputCallsOnly(request: ModelRequest): (delta: ModelDelta) => boolean {
  const keptIndexes = new Set<number>();
  return (delta) => {
    if (delta.type !== 'tool-input') return true;
    const { index, name } = delta;
    if (name === outputToolName && request.tools.length) keptIndexes.add(index);
    // After a reset, the index may belong to another tool call.
    else if (name) keptIndexes.delete(index);
    return keptIndexes.has(index);
  };
}

async function* filtered(
  stream: AsyncIterable<readonly ModelDelta[]>,
  isKept: (delta: ModelDelta) => boolean,
): AsyncGenerator<readonly ModelDelta[]> {
  for await (const deltas of stream) yield deltas.filter(isKept);
}
