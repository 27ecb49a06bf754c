import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent, EventData } from '../../event/agent-event.ts';
import { omitUndefined } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ReplySlot, ModelRequest } from '../../model/chat-model.ts';
import { ReplyAssembler, type ReplyPiece } from '../../model/reply/reply-assembler.ts';
import type { Run } from '../run/run.ts';

/**
 * Result of `steps.ask()`: a reply of the model. `incomplete`: an interrupt or abort ended the
 * reply; `message` is the part that readers have, if any.
 */
export type AskResult =
  | { readonly type: 'complete'; readonly message: Msg }
  | { readonly type: 'incomplete'; readonly message?: Msg | undefined };

/** Returns the event for a piece of a reply, or nothing if readers do not get the piece. */
export type ToEvent = (piece: ReplyPiece) => ReplyPiece | SummaryChunk | undefined;

type SummaryChunk = { readonly type: 'summary-chunk' } & EventData<'summary-chunk'>;

/**
 * Sends one request to the model and resolves with the reply. Sends readers one batch of events per
 * network read. Rejects with the model's `AgentError`.
 */
export async function readReply(
  run: Run,
  request: ModelRequest,
  toEvent: ToEvent = (piece) => piece,
): Promise<AskResult> {
  const { generateId, limits } = run.options;
  const { replyLength } = limits;
  const messageId = generateId();
  const reply = new ReplyAssembler({
    messageId,
    toolUseId: (proposedId) => run.conversation.toolUseId(proposedId, generateId),
  });
  let isShown = false;
  const incomplete = (): AskResult => {
    const message = isShown ? incompleteReply(run, reply, messageId) : undefined;
    return { type: 'incomplete', message };
  };
  try {
    if (run.stopped) return incomplete();
    const context = { signal: run.stopSignal, run, replyLength, replySlot: replySlotOf(run) };
    for await (const deltas of run.model.stream(request, context)) {
      const events: AgentEvent[] = [];
      const at = run.now();
      for (const delta of deltas) {
        if (run.aborted) break;
        const piece = reply.add(delta);
        const fields = piece && toEvent(piece);
        if (!fields) continue;
        const event = run.outbox.stamp(fields, at) as AgentEvent;
        if (run.hooks.handlers(event.type).length) await run.hooks.tell(event);
        events.push(event);
      }
      if (events.length) {
        isShown = true;
        await run.outbox.tellReaders(events);
      }
      if (run.stopped) return incomplete();
    }
    const { failure } = reply;
    if (failure) throw failure;
  } catch (error) {
    if (run.stopped) return incomplete();
    throw AgentError.from(error);
  } finally {
    run.addUsage(reply.usage);
  }
  const message = complete(run, reply, messageId);
  if (isShown) run.outbox.noteShown(message);
  return { type: 'complete', message };
}

/** Returns the slot for the state of the next reply, if the memory stores such states. */
function replySlotOf(run: Run): ReplySlot | undefined {
  const last = run.messages.at(-1);
  return run.setup.log?.replies?.slotAfter(last?.id ?? '', run.waits);
}

function complete(run: Run, reply: ReplyAssembler, id: string): Msg {
  const { finishReason, usage, metadata: fields } = reply;
  const metadata = omitUndefined({ ...fields, finishReason, usage: usage && { ...usage } });
  return run.message('assistant', reply.content({ partial: false }), { id, metadata });
}

function incompleteReply(run: Run, reply: ReplyAssembler, id: string): Msg | undefined {
  const content = reply.content({ partial: true });
  const metadata = { partial: run.stopped! };
  return content.length ? run.message('assistant', content, { id, metadata }) : undefined;
}
