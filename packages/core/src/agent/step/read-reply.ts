import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent, EventData } from '../../event/agent-event.ts';
import { omitUndefined } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import { ReplyAssembler, type ReplyPiece } from '../../model/reply/reply-assembler.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { MessageAuthor } from '../run/message-author.ts';

/** The parts of a run that ask the model and read its reply. */
export type ReplyParts = Pick<
  LiveRun,
  | 'author'
  | 'clock'
  | 'ending'
  | 'forMiddleware'
  | 'hooks'
  | 'log'
  | 'model'
  | 'options'
  | 'outbox'
  | 'totals'
>;

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
  run: ReplyParts,
  request: ModelRequest,
  toEvent: ToEvent = (piece) => piece,
): Promise<AskResult> {
  const { generateId, limits } = run.options;
  const { replyLength } = limits;
  const messageId = generateId();
  const reply = new ReplyAssembler({
    messageId,
    toolUseId: (proposedId) => run.log.conversation.toolUseId(proposedId, generateId),
  });
  let isShown = false;
  const incomplete = (): AskResult => {
    const message = isShown ? incompleteReply(run, reply, messageId) : undefined;
    return { type: 'incomplete', message };
  };
  try {
    if (run.ending.stopped) return incomplete();
    const { stopSignal: signal } = run.ending;
    const replySlot = run.log.replySlot();
    const context = { signal, run: run.forMiddleware, replyLength, replySlot };
    for await (const deltas of run.model.stream(request, context)) {
      const events: AgentEvent[] = [];
      const at = run.clock.now();
      for (const delta of deltas) {
        if (run.ending.aborted) break;
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
      if (run.ending.stopped) return incomplete();
    }
    const { failure } = reply;
    if (failure) throw failure;
  } catch (error) {
    if (run.ending.stopped) return incomplete();
    throw AgentError.from(error);
  } finally {
    run.totals.addUsage(reply.usage);
  }
  const message = complete(run.author, reply, messageId);
  if (isShown) run.outbox.noteShown(message);
  return { type: 'complete', message };
}

function complete(author: MessageAuthor, reply: ReplyAssembler, id: string): Msg {
  const { finishReason, usage, metadata: fields } = reply;
  const metadata = omitUndefined({ ...fields, finishReason, usage: usage && { ...usage } });
  return author.createMessage('assistant', reply.content({ partial: false }), { id, metadata });
}

function incompleteReply(
  { author, ending }: Pick<LiveRun, 'author' | 'ending'>,
  reply: ReplyAssembler,
  id: string,
): Msg | undefined {
  const content = reply.content({ partial: true });
  const metadata = { partial: ending.stopped! };
  return content.length ? author.createMessage('assistant', content, { id, metadata }) : undefined;
}
