import { toCallInput } from '../../event/call-input.ts';
import type { JumpReason } from '../../event/hook.ts';
import type { Msg } from '../../message/msg.ts';
import { closeCalls } from './conclude.ts';
import { answer } from './finish.ts';
import type { EndFields, Jump, Next } from '../next.ts';
import type { Run } from '../run/run.ts';

interface LastReply {
  /** The model's last message. */
  readonly message?: Msg | undefined;
  /** Whether the log does not have it yet. */
  readonly isNew?: boolean;
}

/** Carries out a hook's jump. */
export async function carryOut(
  run: Run,
  { at, to, messages: given, reason: why = 'stopped-by-hook' }: Jump,
  { message, isNew = false }: LastReply = {},
): Promise<Next> {
  const end: EndFields<JumpReason> = {
    reason: why,
    ...(why === 'stopped-by-hook' && { stoppedAt: at }),
  };
  if (to === 'stop') return { ...end, kind: 'stopped', message };
  const messages = [...toCallInput(given, run.options).messages];
  const last = to === 'end' ? messages.pop() : undefined;
  // Do not store an empty reply.
  const added = message && isNew ? [message, ...messages] : messages;
  await run.append(added.filter(({ content }) => content.length));
  if (to === 'model') return { to, isAsked: true };
  if (to === 'tools') return { to };
  await closeCalls(run);
  return last ? answer(run, last, end) : { ...end, kind: 'stopped', message };
}
