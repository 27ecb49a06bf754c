import { checkRequest } from '../../event/check-event.ts';
import { toolUsesOf, type Msg } from '../../message/msg.ts';
import { shortenResults } from '../../message/conversation/shorten-results.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { Reply } from '../middleware.ts';
import { isNext, type Next } from '../next.ts';
import type { RequestDraft } from '../request-draft.ts';
import type { RequestPrompt } from '../run/request-prompt.ts';
import type { StepParts } from '../run/step-parts.ts';
import type { Toolbox } from '../run/toolbox.ts';
import type { Wrappers } from '../run/wrappers.ts';
import { goToTools, interruptOpenCalls } from './close-calls.ts';
import { endStopped } from './finish.ts';
import { jumpOfRound, revise } from './jump.ts';
import { readReply, type ReplyParts } from './read-reply.ts';

/** The parts of a run that make the next model request. */
interface RequestParts extends ReplyParts {
  readonly prompt: RequestPrompt;
  readonly tools: Toolbox;
  readonly wrappers: Wrappers;
}

/** Asks the model once and returns what follows its reply. */
export async function reason(live: RequestParts, mustAsk = false): Promise<Next> {
  if (live.halt.stopped) return endStopped(live);
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls. If a hook asked for a `stop`, they stay open.
  if (!live.calls.roundJump.jump) await interruptOpenCalls(live);
  const next = await jumpOfRound(live);
  if (next) return next;
  // A wrapper may have asked again without storing the reply that readers have.
  if (live.outbox.unstoredReply()) await live.outbox.emit('step-reset', { reason: 'replaced' });
  const request = await nextRequest(live, mustAsk);
  if (isNext(request)) return request;
  const { type, message } = await readReply(live, request);
  return type === 'incomplete' ? endStopped(live, message) : afterReply(live, { message, request });
}

/**
 * Makes the next model request from the log, and passes it through `wrapRequest`.
 * `mustAsk`: no middleware may answer in the model's place.
 */
async function nextRequest(live: RequestParts, mustAsk: boolean): Promise<ModelRequest | Next> {
  const { iterations, resultLength } = live.options.limits;
  const listing = live.tools.current.whenListed?.(live.halt.signal);
  if (listing) {
    await listing;
    live.halt.signal.throwIfAborted();
  }
  const messages = shortenResults(live.prompt.messages, resultLength);
  const draft: RequestDraft = {
    messages,
    fixedCount: messages.length - live.log.messages.length,
    tools: live.tools.schemas,
    options: live.options.generate,
    mustAsk,
    addedLater: [],
    limit: live.totals.iteration >= iterations ? 'max-iterations' : undefined,
  };
  return live.wrappers.run('wrapRequest', draft, (last) => innerRequest(live, last, messages));
}

/**
 * Passes the next model request through the `pre-reasoning` hooks. `log`: the messages of the
 * request before middleware changed them.
 */
async function innerRequest(
  live: RequestParts,
  draft: RequestDraft,
  log: readonly Msg[],
): Promise<ModelRequest | Next> {
  const { messages, tools, options, limit } = draft;
  if (limit) return { kind: 'limit', reason: limit, draft };
  live.totals.iteration += 1;
  try {
    // To check the log again would be slow.
    if (messages !== log) checkRequest(messages);
    const { event, next } = await revise(live, 'pre-reasoning', { messages, tools, options });
    return next ?? { ...event.options, messages: event.messages, tools: event.tools };
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (live.halt.isAbort(thrown)) live.totals.iteration -= 1;
    throw thrown;
  }
}

/** Passes a reply through `wrapReply`, and says what follows it. */
export function afterReply(live: RequestParts, reply: Reply): Promise<Next> {
  return live.wrappers.run('wrapReply', reply, ({ message, ...last }) => {
    const isReplaced = message !== reply.message;
    return innerReply(live, {
      ...last,
      message: isReplaced ? live.author.asNewReply(message) : message,
    });
  });
}

/** Passes a reply of the model through the `post-reasoning` hooks. Appends it if it calls tools. */
async function innerReply(live: StepParts, reply: Reply): Promise<Next> {
  if (!reply.request) return { kind: 'custom', reason: reply.reason, message: reply.message };
  const { event, next } = await revise(live, 'post-reasoning', { message: reply.message });
  if (next) return next;
  const { message } = event;
  if (!toolUsesOf(message).length) return { kind: 'answer', reason: 'stop', message };
  await live.log.append([message]);
  return goToTools(live, message);
}
