import type { EventData, EventOf } from '../../event/agent-event.ts';
import { toCallInput } from '../../event/call-input.ts';
import type { ControlOf, JumpReason } from '../../event/hook.ts';
import type { Msg } from '../../message/msg.ts';
import { closeCalls } from './conclude.ts';
import { told } from './finish.ts';
import { controlOf, firstOf, type EndBase, type Jump, type Next } from '../next.ts';
import type { Run } from '../run/run.ts';
import { append } from '../run/session.ts';
import type { SummaryEvent } from '../steps.ts';

/** Events whose hooks may ask for a jump at once. */
type RevisedEvent = 'pre-reasoning' | 'post-reasoning' | SummaryEvent;

/** An event after its hooks, and what they asked for. */
export interface Revised<K extends RevisedEvent> {
  readonly event: EventOf<K>;
  readonly next?: Next;
}

/**
 * Passes an event through the hooks, then to the readers. Carries out what the hooks asked for.
 */
export async function revise<K extends RevisedEvent>(
  run: Run,
  type: K,
  data: EventData<K>,
): Promise<Revised<K>> {
  const jumps: Jump[] = [];
  const event = await run.outbox.revise(type, data, controlsAt(type, jumps) as ControlOf<K>);
  const jump = firstOf(jumps);
  if (!jump) return { event };
  const { message } = event as { readonly message?: Msg };
  return { event, next: await carryOut(run, jump, message) };
}

function controlsAt(type: RevisedEvent, jumps: Jump[]): object {
  if (type === 'post-summary') return {};
  const all = controlOf(jumps, type);
  return type === 'pre-summary' ? { stop: all.stop } : all;
}

/** Carries out a hook's jump. `message`: the model's last reply, which the log may not have yet. */
export async function carryOut(
  run: Run,
  { at, to, messages: given, reason: why = 'stopped-by-hook' }: Jump,
  message?: Msg,
): Promise<Next> {
  const end: EndBase<JumpReason> = {
    reason: why,
    ...(why === 'stopped-by-hook' && { stoppedAt: at }),
  };
  if (to === 'stop') return { ...end, kind: 'stopped', message };
  const messages = [...toCallInput(given, run.options).messages];
  const last = to === 'end' ? messages.pop() : undefined;
  if (message && !run.conversation.has(message.id)) messages.unshift(message);
  // Do not store an empty reply.
  await append(
    run,
    messages.filter(({ content }) => content.length),
  );
  if (to === 'model') return { to, isAsked: true };
  if (to === 'tools') return { to };
  await closeCalls(run);
  return last ? told(run, last, end) : { ...end, kind: 'stopped', message };
}
