import { checkRequest } from '../../event/check-event.ts';
import { toolUsesOf, type Msg } from '../../message/msg.ts';
import { shortenResults } from '../../message/conversation/shorten-results.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { Reply } from '../middleware.ts';
import { isNext, type Next } from '../next.ts';
import type { RequestDraft } from '../request-draft.ts';
import type { LiveRun } from '../run/live-run.ts';
import { runWrapped, type WrapParts } from '../run/wrapped-step.ts';
import { goToTools, interruptOpenCalls } from './close-calls.ts';
import { endStopped, type EndParts } from './finish.ts';
import { jumpOfRound, revise, type JumpParts } from './jump.ts';
import { readReply, type ReplyParts } from './read-reply.ts';

/** The parts of a run that make the next model request. */
type RequestParts = JumpParts & WrapParts & Pick<LiveRun, 'prompt' | 'tools' | 'totals'>;

/** Asks the model once and returns what follows its reply. */
export async function reason(
  run: RequestParts & EndParts & ReplyParts,
  mustAsk = false,
): Promise<Next> {
  if (run.ending.stopped) return endStopped(run);
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls. If a hook asked for a `stop`, they stay open.
  if (!run.calls.roundJump.jump) await interruptOpenCalls(run);
  const next = await jumpOfRound(run);
  if (next) return next;
  // A wrapper may have asked again without storing the reply that readers have.
  if (run.outbox.unstoredReply()) await run.outbox.emit('step-reset', { reason: 'replaced' });
  const request = await nextRequest(run, mustAsk);
  if (isNext(request)) return request;
  const { type, message } = await readReply(run, request);
  return type === 'incomplete' ? endStopped(run, message) : afterReply(run, { message, request });
}

/**
 * Makes the next model request from the log, and passes it through `wrapRequest`.
 * `mustAsk`: no middleware may answer in the model's place.
 */
async function nextRequest(run: RequestParts, mustAsk: boolean): Promise<ModelRequest | Next> {
  const { iterations, resultLength } = run.options.limits;
  const listing = run.tools.current.whenListed?.(run.ending.signal);
  if (listing) {
    await listing;
    run.ending.signal.throwIfAborted();
  }
  const messages = shortenResults(run.prompt.messages, resultLength);
  const draft: RequestDraft = {
    messages,
    fixedCount: messages.length - run.log.messages.length,
    tools: run.tools.schemas,
    options: run.options.generate,
    mustAsk,
    addedLater: [],
    limit: run.totals.iteration >= iterations ? 'max-iterations' : undefined,
  };
  return runWrapped(run, 'wrapRequest', draft, (last) => innerRequest(run, last, messages));
}

/**
 * Passes the next model request through the `pre-reasoning` hooks. `log`: the messages of the
 * request before middleware changed them.
 */
async function innerRequest(
  run: JumpParts & Pick<LiveRun, 'totals'>,
  draft: RequestDraft,
  log: readonly Msg[],
): Promise<ModelRequest | Next> {
  const { messages, tools, options, limit } = draft;
  if (limit) return { kind: 'limit', reason: limit, draft };
  run.totals.iteration += 1;
  try {
    // To check the log again would be slow.
    if (messages !== log) checkRequest(messages);
    const { event, next } = await revise(run, 'pre-reasoning', { messages, tools, options });
    return next ?? { ...event.options, messages: event.messages, tools: event.tools };
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (run.waits.isAbort(thrown)) run.totals.iteration -= 1;
    throw thrown;
  }
}

/** Passes a reply through `wrapReply`, and says what follows it. */
export function afterReply(run: JumpParts & WrapParts, reply: Reply): Promise<Next> {
  return runWrapped(run, 'wrapReply', reply, ({ message, ...last }) => {
    const isReplaced = message !== reply.message;
    return innerReply(run, {
      ...last,
      message: isReplaced ? run.author.asNewReply(message) : message,
    });
  });
}

/** Passes a reply of the model through the `post-reasoning` hooks. Appends it if it calls tools. */
async function innerReply(run: JumpParts, reply: Reply): Promise<Next> {
  if (!reply.request) return { kind: 'custom', reason: reply.reason, message: reply.message };
  const { event, next } = await revise(run, 'post-reasoning', { message: reply.message });
  if (next) return next;
  const { message } = event;
  if (!toolUsesOf(message).length) return { kind: 'answer', reason: 'stop', message };
  await run.log.append([message]);
  return goToTools(run, message);
}
