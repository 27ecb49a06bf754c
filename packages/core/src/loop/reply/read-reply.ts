import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent, AgentEventBase, EventOf } from '../../event/agent-event.ts';
import { withoutPreviousResponse } from '../../message/edited-call.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { abortables } from '../../model/abortable.ts';
import { ReplyCalls } from '../../model/reply-calls.ts';
import { ReplyLength, usualReplyLength } from '../../model/reply-length.ts';
import { ReplyAssembler, type ReplyPiece } from './reply-assembler.ts';
import type { Run } from '../run/run.ts';
import { keptReply } from './kept-reply.ts';

/**
 * A reply of the model. `cut`: an interrupt or abort ended the reply; `message` is the part that
 * readers have, if any. `output`: the typed value, if `OnLimit` returned the reply.
 */
export type Reply =
  | { readonly type: 'whole'; readonly message: Msg; readonly output?: unknown }
  | { readonly type: 'cut'; readonly message?: Msg };

/**
 * Sends one request to the model and resolves with the reply. Sends readers one batch of events per
 * network read. Rejects with the model's `AgentError`.
 */
export async function readReply(
  run: Run,
  request: ModelRequest,
  phase: 'reasoning' | 'summary',
): Promise<Reply> {
  const { generateId, model } = run.setup;
  const messageId = generateId();
  const assembler = new ReplyAssembler({
    messageId,
    toolUseId: (given) => run.conversation.toolUseId(given, generateId),
  });
  const signal = run.modelSignal();
  const within = abortables(signal);
  const { replyLength = usualReplyLength } = run.setup.options.limits ?? {};
  const length = new ReplyLength(replyLength);
  const calls = new ReplyCalls();
  let iterator: AsyncIterator<readonly ModelDelta[]> | undefined;
  try {
    if (run.cut) return cutReply(run, assembler, messageId);
    const asked = withoutOldArguments(request, run.view);
    const context = { signal, run: run.about, replyLength, kept: keptReply(run) };
    iterator = model.stream(asked, context)[Symbol.asyncIterator]();
    for (;;) {
      const next = await within(iterator.next());
      if (next.done) break;
      length.add(next.value);
      calls.add(next.value);
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
    calls.end();
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

/**
 * Removes the reference to an earlier response if a person edited the last reply. The provider's
 * stored response still has the old arguments.
 */
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
