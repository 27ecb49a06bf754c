import type { JsonObject, Middleware, Msg } from '@isoloop/core';
import { metadataOf } from '@isoloop/core/message';

/**
 * Makes the reply to a request without tools final (Arc Reactor: `activeTools.isEmpty()`). Removes
 * the tool calls of the reply and keeps its text. The model can still call the tool of a structured
 * answer.
 */
export function finalWithoutTools(): Middleware {
  return {
    name: 'finalWithoutTools',
    wrapReply: async (reply, next, run) => {
      const givesAnswer: GivesAnswer = ({ name }) => {
        const found = run.tools.current.find(name);
        return typeof found === 'object' && found.givesAnswer === true;
      };
      if (!reply.request?.tools.every(givesAnswer)) return next(reply);
      const message = withoutCalls(reply.message, givesAnswer);
      const isChanged = message !== reply.message;
      if (isChanged) await run.events.emit('step-reset', { reason: 'final', replacement: message });
      // The rest of the reply needs no correction.
      const isFinal = isChanged || !message.content.length;
      return next(isFinal ? { ...reply, message, isFinal } : reply);
    },
  };
}

/** Returns whether a tool gives the answer, such as that of `structured()`. */
type GivesAnswer = (subject: { readonly name: string }) => boolean;

/**
 * Removes the tool calls from the reply, except those that give the answer. Also removes the
 * metadata that makes the text protocol ask the model for a correction.
 */
function withoutCalls(message: Msg, givesAnswer: GivesAnswer): Msg {
  const { invalidReply, ...metadata } = metadataOf(message);
  const text = invalidReply?.proseText?.trim();
  const blocks = message.content.filter((one) => one.type !== 'tool_use' || givesAnswer(one));
  if (text === undefined && blocks.length === message.content.length) return message;
  const textBlocks = text ? [{ type: 'text', text } as const] : [];
  return { ...message, metadata: metadata as JsonObject, content: [...blocks, ...textBlocks] };
}
