import { checkRequest } from '../../event/check-event.ts';
import { shortenResults } from '../../message/shorten-results.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import { closeCalls } from './conclude.ts';
import { revise } from './jump.ts';
import type { RequestDraft } from '../middleware.ts';
import type { Next } from '../next.ts';
import type { Run } from '../run/run.ts';

/** Returns the next model request from the log. Closes open tool calls first. */
export async function draftRequest(run: Run, isAsked: boolean): Promise<RequestDraft> {
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls.
  await closeCalls(run);
  const { iterations, resultLength } = run.options.limits;
  const messages = shortenResults(run.request, resultLength);
  run.drafted = messages;
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
  try {
    // To check the log again would be slow.
    if (messages !== run.drafted) checkRequest(messages);
    const { event, next } = await revise(run, 'pre-reasoning', { messages, tools, options });
    return next ?? { ...event.options, messages: event.messages, tools: event.tools };
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (run.waits.isAbort(thrown)) run.iteration -= 1;
    throw thrown;
  }
}
