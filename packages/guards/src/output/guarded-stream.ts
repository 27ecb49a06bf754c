import { markAsProgram } from '@isoloop/core/message';
import {
  assistantMessage,
  userMessage,
  type ChatModel,
  type ModelContext,
  type ModelDelta,
  type ModelRequest,
  type Usage,
} from '@isoloop/core';
import { addUsage } from '@isoloop/core/model';
import { deltasText, estimateUsage } from '../estimate-usage.ts';
import { RuleRejection } from './checked-rule.ts';
import { GuardedReply, guardReset, reportRejection, type ReplyGuards } from './guarded-reply.ts';

/**
 * Asks the model and applies the rules to its reply. If a rule asks for another reply, asks the
 * model again.
 */
export async function* guardedStream(
  next: ChatModel,
  request: ModelRequest,
  context: ModelContext,
  guards: ReplyGuards,
): AsyncGenerator<readonly ModelDelta[]> {
  const isForProgram = request.replyFor === 'program';
  let currentRequest = request;
  let usage: Usage | undefined;
  for (let mayRetry = true; ; mayRetry = false) {
    let reply = new GuardedReply(guards, { isForProgram });
    let replyText = '';
    try {
      for await (const batch of next.stream(currentRequest, context)) {
        replyText += deltasText(batch);
        const start = batch.findLastIndex(({ type }) => type === 'reset') + 1;
        if (start) {
          reply = new GuardedReply(guards, { isForProgram });
          yield batch.slice(start - 1, start);
        }
        const deltas = reply.take(batch.slice(start));
        if (deltas.length) yield deltas;
      }
      const { correction, deltas, text } = await reply.end(mayRetry);
      usage = addUsage(usage, reply.finish?.usage);
      if (correction === undefined) {
        const { finish } = reply;
        yield finish ? [...deltas, { ...finish, ...(usage && { usage }) }] : deltas;
        return;
      }
      if (reply.isReleased) yield [guardReset];
      currentRequest = withCorrection(request, text, correction);
    } catch (thrown) {
      // A failed or rejected reply also costs tokens, so its usage is reported.
      const estimate = replyText
        ? estimateUsage(currentRequest, replyText, guards.profile)
        : undefined;
      const last = lastDeltas(thrown, reply, addUsage(usage, reply.finish?.usage ?? estimate));
      const error = reportRejection(thrown, guards);
      if (last.length) yield last;
      throw error;
    }
  }
}

/** Returns the deltas with which a failed reply ends. */
function lastDeltas(
  thrown: unknown,
  { isReleased }: GuardedReply,
  usage: Usage | undefined,
): readonly ModelDelta[] {
  const isRejection = thrown instanceof RuleRejection;
  const deltas: ModelDelta[] = isRejection && isReleased ? [guardReset] : [];
  if (usage) deltas.push({ type: 'finish', reason: isRejection ? 'rejected' : 'error', usage });
  return deltas;
}

function withCorrection(request: ModelRequest, text: string, correction: string): ModelRequest {
  const reply = text ? [assistantMessage(text)] : [];
  const correctionMessage = markAsProgram(userMessage(correction));
  return { ...request, messages: [...request.messages, ...reply, correctionMessage] };
}
