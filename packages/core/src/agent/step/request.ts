import { checkRequest } from '../../event/check-event.ts';
import type { Msg } from '../../message/msg.ts';
import { shortenResults } from '../../message/shorten-results.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import { closeCalls } from './conclude.ts';
import { carryOut } from './jump.ts';
import type { RequestDraft } from '../middleware.ts';
import { controlOf, firstOf, type Jump, type Next } from '../next.ts';
import type { Run } from '../run/run.ts';

/** Messages of requests as the loop makes them. To check such a long list again would be slow. */
const unchanged: WeakSet<readonly Msg[]> = new WeakSet();

/** Returns the next model request from the log. Closes open tool calls first. */
export async function draftRequest(run: Run, isAsked: boolean): Promise<RequestDraft> {
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls.
  await closeCalls(run);
  const { iterations, resultLength } = run.options.limits;
  const messages = shortenResults(run.request, resultLength);
  unchanged.add(messages);
  return {
    messages,
    head: messages.length - run.messages.length,
    tools: run.toolSchemas,
    options: run.generate,
    isAsked,
    beside: [],
    limit: run.iteration >= iterations ? 'max-iterations' : undefined,
  };
}

/**
 * Passes the next model request through the `pre-reasoning` hooks. This is the innermost step of
 * `wrapRequest`.
 */
export async function innerRequest(run: Run, given: RequestDraft): Promise<ModelRequest | Next> {
  const { messages, tools, options, limit } = given;
  if (limit) return { kind: 'refused', reason: limit, draft: given };
  run.iteration += 1;
  const jumps: Jump[] = [];
  try {
    if (!unchanged.has(messages)) checkRequest(messages);
    const control = controlOf(jumps, 'pre-reasoning');
    const event = await run.outbox.modify('pre-reasoning', { messages, tools, options }, control);
    await run.outbox.push([event]);
    const instead = firstOf(jumps);
    if (instead) return await carryOut(run, instead);
    return { ...event.options, messages: event.messages, tools: event.tools };
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (run.waits.isAbort(thrown)) run.iteration -= 1;
    throw thrown;
  }
}
