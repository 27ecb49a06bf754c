import { toCallInput } from '../../event/call-input.ts';
import type { Jump, JumpReason } from '../../event/hook.ts';
import { withMetadata } from '../../message/metadata.ts';
import type { StopReason } from '../../event/agent-result.ts';
import { textOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import { interruptOpenCalls } from './conclude.ts';
import type { EndBase, Ending, Next, ToldReason } from '../next.ts';
import { pendingCallsOf } from '../run/open-calls.ts';
import type { Run } from '../run/run.ts';
import { append } from '../run/session.ts';
import { releasedPart } from './read-reply.ts';

// If something stops a run, `endStopped` and `endingOf` say how it ends. `finish` carries out each
// ending.

/**
 * Ends an agent call that was interrupted, paused, aborted or refused. Stores the part of the reply
 * that readers have, marked with `metadata.partial`. Closes the open tool calls, except for a pause.
 * Rejects with the failure of the agent call, if a failure stopped it.
 */
export async function endStopped(run: Run, partial?: Msg): Promise<Ending> {
  if (run.aborted) run.moveTo('stopping');
  if (partial) await append(run, [partial]);
  if (run.stopped !== 'suspended') await interruptOpenCalls(run);
  return endingOf(run, partial);
}

/**
 * Returns the ending for what stopped the run. Throws its failure. The answer to an interrupt is its
 * message or the recovery message (AgentScope: `handleInterrupt`). `partial`: part of a reply.
 */
export function endingOf(run: Run, partial?: Msg): Ending {
  const { halt } = run;
  switch (halt.how) {
    case 'failed':
      throw halt.error;
    case 'rejected': {
      const { error } = halt;
      const message = run.message('assistant', error.message);
      return told(run, message, { reason: 'rejected', error: error.toJSON() });
    }
    case 'suspended': {
      const last = run.messages.findLast(({ role }) => role !== 'tool');
      const message = last?.role === 'assistant' ? last : undefined;
      return { kind: 'stopped', reason: 'suspended', message };
    }
    case 'interrupted': {
      const { message = run.message('assistant', run.options.recoveryMessage) } = halt;
      const isUsed = run.conversation.has(message.id);
      const given = isUsed ? { ...message, id: run.options.generateId() } : message;
      return told(run, given, { reason: 'interrupted' });
    }
    default:
      return { kind: 'stopped', reason: 'aborted', message: partial };
  }
}

/**
 * Ends the agent call with a message that the model did not write. `finish` sends the text to the
 * readers. If this function sent it, an abort in a waiting wrapper could drop an answer that readers
 * have seen.
 */
export function told(run: Run, given: Msg, end: EndBase<ToldReason>): Ending {
  const message = withMetadata(run.asReply(given), { reason: end.reason });
  return { ...end, kind: 'told', message };
}

/** Reasons of agent calls that leave tool calls open. The next agent call continues with them. */
const keepingCalls: readonly StopReason[] = ['suspended', 'stopped-by-hook'];

/** Reasons of agent calls whose last message is no answer for the `post-call` hooks. */
const withoutAnswer: readonly StopReason[] = ['aborted', 'interrupted', 'rejected'];

/** How a run has ended, with its last message. */
export type Finished = EndBase & { readonly message: Msg };

/** Carries out an ending. If the run is aborted meanwhile, ends it as aborted. */
export async function finish(run: Run, ending: Ending): Promise<Finished> {
  try {
    return await storeAnswer(run, ending);
  } catch (thrown) {
    if (!run.waits.isAbort(thrown)) throw thrown;
    // Readers may have the answer already, so the log keeps it.
    const part = ending.reason === 'rejected' ? undefined : releasedPart(run, ending.message);
    return storeAnswer(run, await endStopped(run, part));
  }
}

/** Passes the answer through the hooks, and stores it. */
async function storeAnswer(run: Run, ending: Ending): Promise<Finished> {
  const keepsCalls = keepingCalls.includes(ending.reason);
  // A rejection of the input changes nothing.
  if (!keepsCalls && run.halt.how !== 'rejected') await interruptOpenCalls(run);
  run.moveTo('ending');
  let { message = run.message('assistant', []) } = ending;
  if (ending.kind === 'told') await tellText(run, message);
  if (ending.reason === 'suspended')
    await run.outbox.emit('suspended', { pending: pendingCallsOf(run) });
  // An earlier run passed a stored answer through the hooks.
  if (ending.kind === 'stored') await run.outbox.emit('post-call', { message });
  else if (!withoutAnswer.includes(ending.reason))
    ({ message } = await run.outbox.revise('post-call', { message }));
  // If the agent call was aborted before its answer, the message is empty.
  const isInLog = run.conversation.has(message.id);
  if (message.content.length && ending.reason !== 'rejected' && !isInLog) {
    // `closeLog` writes the answer together with the end of the run, unless it has to wait before.
    await append(run, [message], { later: !run.log.lastWork.length });
    // A wrapper may end the run with a reply whose tool calls do not run.
    if (toolUsesOf(message).length && !keepsCalls) await interruptOpenCalls(run);
  }
  return { ...ending, message };
}

/** Sends the text of a message that no model streams to the readers. */
export function tellText(run: Run, message: Msg): Promise<void> {
  const blockId = `${message.id}:0`;
  return run.outbox.emit('reasoning-chunk', { blockId, kind: 'text', delta: textOf(message) });
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
  if (to === 'model') return { to, mustAnswer: true };
  if (to === 'tools') return { to };
  await interruptOpenCalls(run);
  return last ? told(run, last, end) : { ...end, kind: 'stopped', message };
}
