import { toolUsesOf } from '../../message/message-text.ts';
import type { Reply } from '../middleware.ts';
import type { Next } from '../next.ts';
import type { Run } from '../run/run.ts';
import { append } from '../run/session.ts';
import { runWrapped } from '../run/wrapped-step.ts';
import { told } from './finish.ts';
import { revise } from './jump.ts';

/** Passes a reply through `wrapReply`, and says what follows it. */
export function afterReply(run: Run, reply: Reply): Promise<Next> {
  return runWrapped(run, 'wrapReply', reply, innerReply);
}

/** Passes a reply of the model through the `post-reasoning` hooks. Appends it if it calls tools. */
async function innerReply(run: Run, given: Reply): Promise<Next> {
  if (!given.request) return told(run, given.message, { reason: given.reason });
  const { event, next } = await revise(run, 'post-reasoning', { message: given.message });
  if (next) return next;
  const { message } = event;
  if (!toolUsesOf(message).length) return { kind: 'answer', reason: 'stop', message };
  await append(run, [message]);
  return { to: 'tools' };
}
