import { withMetadata } from '../../message/metadata.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { setFields } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { KeptReply, ModelRequest } from '../../model/chat-model.ts';
import { ReplyAssembler, type ReplyPiece } from '../../model/reply-assembler.ts';
import type { Run } from '../run/run.ts';

/**
 * A reply of the model. `incomplete`: an interrupt or abort ended the reply; `message` is the part
 * that readers have, if any.
 */
export type ModelReply =
  | { readonly type: 'complete'; readonly message: Msg }
  | { readonly type: 'incomplete'; readonly message?: Msg };

/** Returns the event for a piece of a reply, or nothing if readers do not get the piece. */
export type ToEvent = (piece: ReplyPiece) => { readonly type: AgentEvent['type'] } | undefined;

/**
 * Sends one request to the model and resolves with the reply. Sends readers one batch of events per
 * network read. Rejects with the model's `AgentError`.
 */
export async function readReply(
  run: Run,
  request: ModelRequest,
  toEvent?: ToEvent,
): Promise<ModelReply> {
  const { generateId, limits } = run.options;
  const { replyLength } = limits;
  const messageId = generateId();
  const reply = new ReplyAssembler({
    messageId,
    toolUseId: (given) => run.conversation.toolUseId(given, generateId),
  });
  const signal = run.requestSignal();
  try {
    if (run.stopped) return incomplete(run, reply, messageId);
    const context = { signal, run, replyLength, kept: keptReply(run) };
    for await (const deltas of run.model.stream(request, context)) {
      const events: AgentEvent[] = [];
      const at = run.now();
      for (const delta of deltas) {
        if (run.aborted) break;
        const piece = reply.add(delta);
        const fields = piece && toEvent ? toEvent(piece) : piece;
        if (!fields) continue;
        const event = run.outbox.stamp(fields, at) as AgentEvent;
        if (run.hooks.handlers(event.type).length) await run.hooks.notify(event);
        events.push(event);
      }
      if (events.length) await run.outbox.push(events);
      if (run.stopped) return incomplete(run, reply, messageId);
    }
    if (reply.isIncomplete)
      throw new AgentError('MODEL_BAD_RESPONSE', 'The reply ended early', { retryable: true });
  } catch (error) {
    if (run.stopped) return incomplete(run, reply, messageId);
    throw AgentError.from(error);
  } finally {
    run.addUsage(reply.usage);
  }
  run.lastReply = complete(run, reply, messageId);
  return { type: 'complete', message: run.lastReply };
}

/** Returns the place for the state of the next reply, if the memory stores such states. */
function keptReply(run: Run): KeptReply | undefined {
  const { replies } = run.setup.memory;
  const last = run.messages.at(-1);
  return replies?.keptAfter(last?.id ?? '', run.waits);
}

function complete(run: Run, reply: ReplyAssembler, id: string): Msg {
  const { finishReason, usage, metadata } = reply;
  const about = setFields({ ...metadata, finishReason, usage: usage && { ...usage } });
  return run.message('assistant', reply.content({ partial: false }), { id, metadata: about });
}

function incomplete(run: Run, reply: ReplyAssembler, id: string): ModelReply {
  const content = reply.content({ partial: true });
  if (!content.length) return { type: 'incomplete' };
  const metadata = { partial: run.stopped! };
  return { type: 'incomplete', message: run.message('assistant', content, { id, metadata }) };
}

/**
 * Returns the part of a reply to store after an abort: everything except the tool calls. Returns
 * nothing if the log has the reply already.
 */
export function releasedPart(run: Run, reply: Msg | undefined): Msg | undefined {
  if (!reply || run.conversation.has(reply.id)) return undefined;
  const content = reply.content.filter(({ type }) => type !== 'tool_use');
  if (!content.length) return undefined;
  return withMetadata({ ...reply, content }, { partial: 'aborted' });
}
