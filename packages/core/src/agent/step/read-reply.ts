import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent, EventData } from '../../event/agent-event.ts';
import { omitUndefined } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, ModelRequest } from '../../model/chat-model.ts';
import { ReplyAssembler, type ReplyPiece } from '../../model/reply/reply-assembler.ts';
import type { MessageAuthor } from '../run/message-author.ts';
import type { RunTotals } from '../run/run-totals.ts';
import type { StepParts } from '../run/step-parts.ts';
import type { Run } from '../seam/run.ts';

/** The parts of a run that ask the model and read its reply. */
export interface ReplyParts extends StepParts {
  /** The model inside the wrappers of all middleware. */
  readonly model: ChatModel;
  readonly totals: RunTotals;
  /** The `run` that the wrappers of the model get. */
  readonly run: Run;
}

/**
 * Result of `run.model.ask()`: a reply of the model. `incomplete`: an interrupt or abort ended the
 * reply; `message` is the part that readers have, if any. A wrapper then returns
 * `run.ending.whenStopped()`, with the reply that the log does not have yet.
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
  live: ReplyParts,
  request: ModelRequest,
  toEvent: ToEvent = (piece) => piece,
): Promise<AskResult> {
  const { generateId, limits } = live.options;
  const { replyLength } = limits;
  const messageId = generateId();
  const reply = new ReplyAssembler({
    messageId,
    toolUseId: (proposedId) => live.log.conversation.toolUseId(proposedId, generateId),
  });
  let isShown = false;
  const incomplete = (): AskResult => {
    const message = isShown ? incompleteReply(live, reply, messageId) : undefined;
    return { type: 'incomplete', message };
  };
  try {
    if (live.halt.stopped) return incomplete();
    const { stopSignal: signal } = live.halt;
    const replySlot = live.log.replySlot();
    const context = { signal, run: live.run, replyLength, replySlot };
    for await (const deltas of live.model.stream(request, context)) {
      const events: AgentEvent[] = [];
      const at = live.clock.now();
      for (const delta of deltas) {
        if (live.halt.aborted) break;
        const piece = reply.add(delta);
        const fields = piece && toEvent(piece);
        if (!fields) continue;
        const event = live.outbox.stamp(fields, at) as AgentEvent;
        const telling = live.outbox.tellHooks(event);
        if (telling instanceof Promise) await telling;
        events.push(event);
      }
      if (events.length) {
        isShown = true;
        await live.outbox.tellReaders(events);
      }
      if (live.halt.stopped) return incomplete();
    }
    const { failure } = reply;
    if (failure) throw failure;
  } catch (error) {
    if (live.halt.stopped) return incomplete();
    throw AgentError.from(error);
  } finally {
    live.totals.addUsage(reply.usage);
  }
  const message = complete(live.author, reply, messageId);
  if (isShown) live.outbox.noteShown(message);
  return { type: 'complete', message };
}

function complete(author: MessageAuthor, reply: ReplyAssembler, id: string): Msg {
  const { finishReason, usage, metadata: fields } = reply;
  const metadata = omitUndefined({ ...fields, finishReason, usage: usage && { ...usage } });
  return author.createMessage('assistant', reply.content({ partial: false }), { id, metadata });
}

function incompleteReply(
  { author, halt }: StepParts,
  reply: ReplyAssembler,
  id: string,
): Msg | undefined {
  const content = reply.content({ partial: true });
  const metadata = { partial: halt.stopped! };
  return content.length ? author.createMessage('assistant', content, { id, metadata }) : undefined;
}
