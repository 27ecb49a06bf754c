import { checkRequest } from '../../event/check-event.ts';
import { shortenResults } from '../../message/shorten-results.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import { closeCalls } from './conclude.ts';
import { revise } from './jump.ts';
import type { RequestDraft } from '../middleware.ts';
import type { Next } from '../next.ts';
import type { Run } from '../run/run.ts';
import { runWrapped } from '../run/wrapped-step.ts';

/**
 * Makes the next model request from the log, and passes it through `wrapRequest`. Closes open tool
 * calls first. `isAsked`: the model must answer.
 */
export async function nextRequest(run: Run, isAsked: boolean): Promise<ModelRequest | Next> {
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls.
  await closeCalls(run);
  const { iterations, resultLength } = run.options.limits;
  const messages = shortenResults(run.request, resultLength);
  const draft: RequestDraft = {
    messages,
    head: messages.length - run.messages.length,
    tools: run.toolSchemas,
    options: run.generate,
    isAsked,
    beside: [],
    limit: run.iteration >= iterations ? 'max-iterations' : undefined,
  };
  return runWrapped(run, 'wrapRequest', draft, (_run, given) => innerRequest(run, given, messages));
}

/**
 * Passes the next model request through the `pre-reasoning` hooks. `log`: the messages of the
 * request before middleware changed them.
 */
async function innerRequest(
  run: Run,
  given: RequestDraft,
  log: readonly Msg[],
): Promise<ModelRequest | Next> {
  const { messages, tools, options, limit } = given;
  if (limit) return { kind: 'refused', reason: limit, draft: given };
  run.iteration += 1;
  try {
    // To check the log again would be slow.
    if (messages !== log) checkRequest(messages);
    const { event, next } = await revise(run, 'pre-reasoning', { messages, tools, options });
    return next ?? { ...event.options, messages: event.messages, tools: event.tools };
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (run.waits.isAbort(thrown)) run.iteration -= 1;
    throw thrown;
  }
}
