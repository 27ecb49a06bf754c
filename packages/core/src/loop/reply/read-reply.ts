import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent, AgentEventBase, EventOf } from '../../event/agent-event.ts';
import { withoutPreviousResponse } from '../../message/edited-call.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { abortables } from '../../model/abortable.ts';
import { ReplyAssembler, type ReplyPiece } from './reply-assembler.ts';
import type { Run } from '../run/run.ts';

/**
 * A reply. `cut`: an interrupt or abort ended it; `message` holds the released part, if there is
 * one. `output`: the value that `OnLimit` made of it.
 */
export type Reply =
  | { readonly type: 'whole'; readonly message: Msg; readonly output?: unknown }
  | { readonly type: 'cut'; readonly message?: Msg };

/**
 * Sends one request to the model. Pushes one batch of events per network read and resolves with the
 * reply. Rejects with the model's `AgentError`.
 */
export async function readReply(
  run: Run,
  request: ModelRequest,
  phase: 'reasoning' | 'summary',
): Promise<Reply> {
  const { generateId, model } = run.setup;
  const messageId = generateId();
  const assembler = new ReplyAssembler({ messageId, toolUseId: (given) => run.toolUseId(given) });
  const signal = run.modelSignal();
  const within = abortables(signal);
  let iterator: AsyncIterator<readonly ModelDelta[]> | undefined;
  try {
    if (run.cut) return cutReply(run, assembler, messageId);
    const asked = withoutOldArguments(request, run.view);
    iterator = model.stream(asked, { signal, run: run.about })[Symbol.asyncIterator]();
    for (;;) {
      const next = await within(iterator.next());
      if (next.done) break;
      const events: AgentEvent[] = [];
      const at = run.setup.now();
      const turn = run.pace.step(at);
      if (turn) await turn;
      for (const delta of next.value) {
        if (run.signal.aborted) break;
        const piece = assembler.add(delta);
        const fields = piece && phase === 'summary' ? toSummaryChunk(piece) : piece;
        if (!fields) continue;
        const event: AgentEvent = run.stamp(fields, at);
        if (run.hooks.handlers(event.type).length)
          await run.hooks.notify<AgentEvent['type']>(event);
        events.push(event);
      }
      if (events.length) await run.push(events);
      if (run.cut) return cutReply(run, assembler, messageId);
    }
  } catch (error) {
    if (run.cut) return cutReply(run, assembler, messageId);
    throw AgentError.from(error);
  } finally {
    // Ends the network read if the loop leaves early, without waiting: a model's cleanup may hang.
    iterator?.return?.()?.catch(() => {});
    run.addUsage(assembler.usage);
  }
  return { type: 'whole', message: wholeMessage(run, assembler, messageId) };
}

/** Any earlier response is older than an edit of the last reply, so the request must not name one. */
function withoutOldArguments(request: ModelRequest, view: readonly Msg[]): ModelRequest {
  const { providerOptions } = request;
  const last = providerOptions && view.findLast(({ role }) => role === 'assistant');
  if (!last?.metadata?.['edited']) return request;
  return { ...request, providerOptions: withoutPreviousResponse(providerOptions!) };
}

function wholeMessage(run: Run, assembler: ReplyAssembler, id: string): Msg {
  const { finishReason, usage, metadata } = assembler;
  const about = {
    ...metadata,
    ...(finishReason && { finishReason }),
    ...(usage && { usage: { ...usage } }),
  };
  return run.message('assistant', assembler.content({ partial: false }), { id, metadata: about });
}

function cutReply(run: Run, assembler: ReplyAssembler, id: string): Reply {
  const content = assembler.content({ partial: true });
  if (!content.length) return { type: 'cut' };
  return {
    type: 'cut',
    message: run.message('assistant', content, { id, metadata: { partial: run.cut! } }),
  };
}

/** Returns the part of a reply that the reader has and that an abort leaves: its text. */
export function releasedPart(reply: Msg): Msg | undefined {
  const content = reply.content.filter(({ type }) => type !== 'tool_use');
  if (!content.length) return undefined;
  return { ...reply, content, metadata: { ...reply.metadata, partial: 'aborted' } };
}

/** Converts a delta for a summary, which has text only. */
function toSummaryChunk(
  piece: ReplyPiece,
): ReplyPiece | Omit<EventOf<'summary-chunk'>, keyof AgentEventBase> | undefined {
  if (piece.type === 'step-reset') return piece;
  if (piece.type !== 'reasoning-chunk' || piece.kind !== 'text') return undefined;
  return { type: 'summary-chunk', blockId: piece.blockId, delta: piece.delta };
}
