import { AgentError, type AgentErrorData } from '../../error/agent-error.ts';
import type { AgentEvent, AgentEventBase, EventOf } from '../../event/agent-event.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { usualReplyLength } from '../../model/reply-length.ts';
import { ReplyAssembler, type ReplyPiece } from './reply-assembler.ts';
import type { Run } from '../run/run.ts';

/**
 * A reply of the model. `cut`: an interrupt or abort ended the reply; `message` is the part that
 * readers have, if any.
 */
export type Reply = WholeReply | { readonly type: 'cut'; readonly message?: Msg };

/**
 * A complete reply. If `OnLimit` returned it, `output` is the typed value, and `error` says why the
 * model did not write the answer. Both become part of the result.
 */
export interface WholeReply {
  readonly type: 'whole';
  readonly message: Msg;
  readonly output?: unknown;
  readonly error?: AgentErrorData;
}

/**
 * Sends one request to the model and resolves with the reply. Sends readers one batch of events per
 * network read. Rejects with the model's `AgentError`.
 */
export async function readReply(
  run: Run,
  request: ModelRequest,
  phase: 'reasoning' | 'summary',
): Promise<Reply> {
  const { generateId, memory, model } = run.setup;
  const messageId = generateId();
  const assembler = new ReplyAssembler({
    messageId,
    toolUseId: (given) => run.conversation.toolUseId(given, generateId),
  });
  const signal = run.modelSignal();
  const { replyLength = usualReplyLength } = run.setup.options.limits ?? {};
  let iterator: AsyncIterator<readonly ModelDelta[]> | undefined;
  try {
    if (run.cut) return cutReply(run, assembler, messageId);
    const kept = memory.replies?.keptAfter(run.view.at(-1)?.id ?? '', run);
    const context = { signal, run: run.about, replyLength, kept };
    iterator = model.stream(request, context)[Symbol.asyncIterator]();
    for (;;) {
      const next = await iterator.next();
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
    if (assembler.isIncomplete)
      throw new AgentError('MODEL_BAD_RESPONSE', 'The reply ended early', { retryable: true });
  } catch (error) {
    if (run.cut) return cutReply(run, assembler, messageId);
    throw AgentError.from(error);
  } finally {
    // Ends the network read if the loop above ended early. Does not wait, because a model's cleanup
    // may hang.
    iterator?.return?.()?.catch(() => {});
    run.addUsage(assembler.usage);
  }
  return { type: 'whole', message: wholeMessage(run, assembler, messageId) };
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

/** Returns the part of a reply to store after an abort: everything except the tool calls. */
export function releasedPart(reply: Msg): Msg | undefined {
  const content = reply.content.filter(({ type }) => type !== 'tool_use');
  if (!content.length) return undefined;
  return { ...reply, content, metadata: { ...reply.metadata, partial: 'aborted' } };
}

/**
 * Converts text to a `summary-chunk`. Keeps resets and the provider's tools. Drops everything else,
 * because a summary has only text.
 */
function toSummaryChunk(
  piece: ReplyPiece,
): ReplyPiece | Omit<EventOf<'summary-chunk'>, keyof AgentEventBase> | undefined {
  if (piece.type === 'step-reset' || piece.type === 'hosted-tool-chunk') return piece;
  if (piece.type !== 'reasoning-chunk' || piece.kind !== 'text') return undefined;
  return { type: 'summary-chunk', blockId: piece.blockId, delta: piece.delta };
}
