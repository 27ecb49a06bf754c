import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent, EventData, EventOf } from '../../event/agent-event.ts';
import { checkNewIds, eachTime, parseInput } from '../../event/agent-input.ts';
import type { Jump, JumpReason, ModifiableEvent } from '../../event/hook.ts';
import type { Msg } from '../../message/msg.ts';
import type { EndBase, Next } from '../next.ts';
import type { JumpRequest } from '../run/outbox.ts';
import type { StepParts } from '../run/step-parts.ts';
import { goToTools } from './close-calls.ts';

// What hooks ask for: `stop` and `jumpTo`. At most events, it is carried out at once. At tool
// calls, it waits in `live.calls.roundJump` until the round ends. Middleware may close a call
// outside of a round. Then it waits until the next model request.

/** An event after its hooks, and what they asked for. */
export interface RevisedEvent<K extends ModifiableEvent> {
  readonly event: EventOf<K>;
  readonly next?: Next;
}

/**
 * Passes an event through the hooks, then to the readers. If the hooks change its message, the
 * readers get a `step-reset` first. Carries out what the hooks asked for.
 */
export async function revise<K extends ModifiableEvent>(
  live: StepParts,
  type: K,
  data: EventData<K>,
): Promise<RevisedEvent<K>> {
  const { outbox } = live;
  const { message: original } = data as { readonly message?: Msg };
  const request: JumpRequest = {};
  let event = await outbox.askHooks(type, data, request);
  let { message } = event as { readonly message?: Msg };
  if (message && original && message !== original) {
    message = live.author.asChanged(message, original);
    await outbox.emit('step-reset', { reason: type, replacement: message });
    event = outbox.stamp({ ...event, message }, (event as AgentEvent).at);
  }
  await outbox.tellReaders([event as AgentEvent]);
  if (!request.jump) return { event };
  return { event, next: await jump(live, request.jump, message) };
}

/** Carries out what hooks asked for at tool calls, if they did. */
export async function jumpOfRound(live: StepParts): Promise<Next | undefined> {
  const { jump: requestedJump } = live.calls.roundJump;
  live.calls.roundJump = {};
  return requestedJump && jump(live, requestedJump, live.log.lastReply);
}

/** Carries out a hook's jump. `reply`: the model's last one, which the log may not have yet. */
export async function jump(live: StepParts, requestedJump: Jump, reply?: Msg): Promise<Next> {
  const { at, to, reason = 'stopped-by-hook' } = requestedJump;
  const stoppedAt = reason === 'stopped-by-hook' ? at : undefined;
  const end: EndBase<JumpReason> = { reason, keepsCalls: to === 'stop', stoppedAt };
  if (to === 'stop') return { ...end, kind: 'unanswered', message: reply };
  const messages = messagesOf(live, requestedJump, reply);
  const isAnswered = to === 'end' && messages.at(-1)?.role !== 'tool';
  const last = isAnswered ? messages.pop() : undefined;
  await live.log.append(messages);
  if (to === 'model') return { to, mustAsk: true };
  if (to === 'tools') return goToTools(live, reply);
  if (last) return { ...end, kind: 'custom', message: last };
  return { ...end, kind: 'unanswered', message: reply };
}

/**
 * Returns the messages that the log gets before a jump: the reply, then those of the hook. If they
 * are invalid, the error names the hook.
 */
function messagesOf(
  { log, options }: StepParts,
  { at, to, messages: jumpInput, hook }: Jump,
  reply?: Msg,
): Msg[] {
  try {
    const messages = [...parseInput(jumpInput, options).messages];
    const isNew = reply?.content.length && !log.conversation.has(reply.id);
    // At the end, `finish` stores the reply after the `post-call` hooks, unless another answer
    // follows.
    if (isNew && (to !== 'end' || messages.length)) messages.unshift(reply);
    checkNewIds(messages, log.messages, eachTime);
    return messages;
  } catch (cause) {
    const { code, message, details } = AgentError.from(cause);
    throw new AgentError(code, `Hook "${hook}" at ${at}: ${message}`, {
      cause,
      details: { ...details, hook: hook ?? null, event: at },
    });
  }
}
