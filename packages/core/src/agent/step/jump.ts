import { toCallInput } from '../../event/call-input.ts';
import type { Msg } from '../../message/msg.ts';
import { closeCalls } from './conclude.ts';
import { answer } from './finish.ts';
import type { Ending, Jump, Next } from '../next.ts';
import type { Run } from '../run/run.ts';

/**
 * Carries out a hook's jump. `reply`: the model's last message. `fresh`: the same message, if it is
 * not in the log yet.
 */
export async function carryOut(
  run: Run,
  { at, to, messages: given, reason: why = 'stopped-by-hook' }: Jump,
  reply?: Msg,
  ...fresh: Msg[]
): Promise<Next> {
  const ending: Ending = {
    reason: why,
    message: reply,
    ...(why === 'stopped-by-hook' && { stoppedAt: at }),
  };
  if (to === 'stop') return ending;
  const messages = [...toCallInput(given, run.options).messages];
  const last = to === 'end' ? messages.pop() : undefined;
  // Do not store an empty reply.
  await run.append([...fresh, ...messages].filter(({ content }) => content.length));
  if (to === 'model') return { to, isAsked: true };
  if (to === 'tools') return { to };
  await closeCalls(run);
  return last ? answer(run, last, ending) : ending;
}
