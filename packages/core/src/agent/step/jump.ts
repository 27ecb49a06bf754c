import type { EventData, EventOf } from '../../event/agent-event.ts';
import { checkNewIds, parseInput } from '../../event/agent-input.ts';
import type { Jump, JumpReason, ModifiableEvent } from '../../event/hook.ts';
import type { Msg } from '../../message/msg.ts';
import type { EndBase, Next } from '../next.ts';
import type { Run } from '../run/run.ts';
import { append } from '../run/run-log.ts';
import { goToTools } from './close-calls.ts';

// What hooks ask for: `stop`, `jumpTo` and `gotoReasoning`. At tool calls, it waits in
// `run.roundJump` until the round ends.

/** An event after its hooks, and what they asked for. */
export interface RevisedEvent<K extends ModifiableEvent> {
  readonly event: EventOf<K>;
  readonly next?: Next;
}

/**
 * Passes an event through the hooks, then to the readers. Carries out what the hooks asked for.
 */
export async function revise<K extends ModifiableEvent>(
  run: Run,
  type: K,
  data: EventData<K>,
): Promise<RevisedEvent<K>> {
  const { event, jump: requestedJump } = await run.outbox.askAndTell(type, data);
  if (!requestedJump) return { event };
  const { message } = event as { readonly message?: Msg };
  return { event, next: await jump(run, requestedJump, message) };
}

/** Carries out a hook's jump. `reply`: the model's last one, which the log may not have yet. */
export async function jump(
  run: Run,
  { at, to, messages: jumpInput, reason = 'stopped-by-hook' }: Jump,
  reply?: Msg,
): Promise<Next> {
  const stoppedAt = reason === 'stopped-by-hook' ? at : undefined;
  const end: EndBase<JumpReason> = { reason, keepsCalls: to === 'stop', stoppedAt };
  if (to === 'stop') return { ...end, kind: 'unanswered', message: reply };
  const messages = [...parseInput(jumpInput, run.options).messages];
  const isNew = reply?.content.length && !run.conversation.has(reply.id);
  // At the end, `finish` stores the reply after the `post-call` hooks, unless another answer
  // follows.
  if (isNew && (to !== 'end' || messages.length)) messages.unshift(reply);
  checkNewIds(messages, run.messages);
  const isAnswered = to === 'end' && messages.at(-1)?.role !== 'tool';
  const last = isAnswered ? messages.pop() : undefined;
  await append(run, messages);
  if (to === 'model') return { to, mustAsk: true };
  if (to === 'tools') return goToTools(run, reply);
  if (last) return { ...end, kind: 'custom', message: last };
  return { ...end, kind: 'unanswered', message: reply };
}
