import { AgentError, misconfigured } from '../../error/agent-error.ts';
import { isSameJson } from '../../message/json.ts';
import { withMetadata } from '../../message/metadata.ts';
import type { StopReason } from '../../event/agent-result.ts';
import { textOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import { interruptOpenCalls } from './close-calls.ts';
import type { EndBase, Ending } from '../next.ts';
import type { StepParts } from '../run/step-parts.ts';
import { isRejection } from '../../wait/halt.ts';
import { revise } from './jump.ts';

// If something stops a run, `endStopped` says how it ends. `finish` carries out each ending.

/**
 * Returns the ending of an agent call that was interrupted, paused, aborted or refused. Stores
 * `partial`, the part of the reply that readers have. The answer to an interrupt is its message or
 * the recovery message. If a failure stopped the agent call, rejects with it, after it has closed
 * the open tool calls.
 */
export async function endStopped(live: StepParts, partial?: Msg): Promise<Ending> {
  if (live.halt.aborted) live.halt.enterStage('aborting');
  if (partial) await live.log.append([partial]);
  const { cause } = live.halt;
  switch (cause.kind) {
    case 'failed':
      await interruptOpenCalls(live);
      throw cause.error;
    case 'rejected': {
      const { error } = cause;
      const message = live.author.createMessage('assistant', error.message);
      return { kind: 'custom', reason: 'rejected', error: error.toJSON(), message };
    }
    case 'suspended': {
      const last = live.log.messages.findLast(({ role }) => role !== 'tool');
      const message = last?.role === 'assistant' ? last : undefined;
      return { kind: 'unanswered', reason: 'suspended', message };
    }
    case 'interrupted': {
      const { message = live.author.createMessage('assistant', live.options.recoveryMessage) } =
        cause;
      return { kind: 'custom', reason: 'interrupted', message };
    }
    case 'aborted':
      return { kind: 'unanswered', reason: 'aborted', message: partial };
    case 'none':
      throw misconfigured(
        'Nothing stopped the run. Call `run.ending.whenStopped()` only if `run.ending.stopped` is set.',
      );
  }
}

/** Returns how an exception ends the run, or throws it. */
export async function endThrown(live: StepParts, thrown: unknown): Promise<Ending> {
  const isStop = live.halt.isStop(thrown);
  if (isStop && live.halt.stopped === 'suspended' && !live.log.hasBegun) throw lostInput(thrown);
  if (isStop || live.halt.isAbort(thrown)) return endStopped(live, live.outbox.unstoredReply());
  if (isRejection(thrown)) {
    live.halt.haltWith(thrown);
    // The result names the tool calls that still wait, also if the messages were not read.
    await live.log.tryRestore();
    return endStopped(live);
  }
  // A wrapper may fail after the log has got the reply with its tool calls.
  await interruptOpenCalls(live).catch(() => {});
  throw thrown;
}

function lostInput(cause: unknown): AgentError {
  const message =
    'The run was paused before it stored its input, so no call can continue it. Send the input again.';
  return new AgentError('ABORTED', message, { cause });
}

/** Reasons of agent calls whose last message is no answer for the `post-call` hooks. */
const withoutAnswer: readonly StopReason[] = ['aborted', 'interrupted', 'rejected'];

/** How a run has ended, with its last message. */
export type RunOutcome = EndBase & { readonly message?: Msg | undefined };

/** Carries out an ending. If the run is aborted meanwhile, ends it as aborted. */
export async function finish(live: StepParts, ending: Ending): Promise<RunOutcome> {
  try {
    return await carryOut(live, ending);
  } catch (thrown) {
    if (!live.halt.isAbort(thrown)) throw thrown;
    const reply = ending.reason === 'rejected' ? undefined : live.outbox.unstoredReply();
    return carryOut(live, await endStopped(live, reply));
  }
}

async function carryOut(live: StepParts, ending: Ending): Promise<RunOutcome> {
  const { reason, keepsCalls = reason === 'suspended' } = ending;
  if (!keepsCalls) await interruptOpenCalls(live);
  live.halt.enterStage('finishing');
  const message = await answerAfterHooks(live, ending);
  // If the agent call was aborted before its answer, the message is empty.
  const isNew = message.content.length > 0 && !live.log.conversation.has(message.id);
  // Without its question, the answer to an early interrupt would confuse the model.
  const isDropped = reason === 'rejected' || (reason === 'interrupted' && !live.log.hasInput);
  if (isNew && !isDropped) {
    // `writeEnd` writes the answer together with the end of the run, unless it has to wait before.
    await live.log.append([message], { later: !live.log.beforeEnd.length });
    // A wrapper may end the run with a reply whose tool calls do not run.
    if (!keepsCalls && toolUsesOf(message).length) await interruptOpenCalls(live);
  }
  return { ...ending, message };
}

/**
 * Tells hooks and readers how the run ends. Returns the answer as the `post-call` hooks left it.
 */
async function answerAfterHooks(live: StepParts, ending: Ending): Promise<Msg> {
  const { kind, reason } = ending;
  const isCustom = kind === 'custom';
  const isNew = isCustom || kind === 'answer';
  const message = messageOf(live, ending);
  const { outbox } = live;
  const readersText = textOf(outbox.unstoredReply() ?? message);
  const isReplaced = readersText && readersText !== textOf(message);
  // Only now, because an abort in a wrapper must not drop a text that readers have.
  if (isReplaced) {
    const replacement = isNew ? { replacement: message } : {};
    await outbox.emit('step-reset', { reason: kind, ...replacement });
  } else if (isCustom) await outbox.sendText(message);
  if (reason === 'suspended') await outbox.emit('suspended', { pending: live.calls.pending });
  // An earlier run passed a stored answer through the hooks.
  if (kind === 'stored') await outbox.emit('post-call', { message });
  if (kind === 'stored' || withoutAnswer.includes(reason)) return message;
  const { event } = await revise(live, 'post-call', { message });
  const isChanged = event.message !== message && live.log.conversation.has(event.message.id);
  if (isChanged) await live.log.edit({ replace: [event.message] });
  return event.message;
}

/** Returns the message with which a run ends, before the `post-call` hooks. */
function messageOf(live: StepParts, { kind, reason, message }: Ending): Msg {
  if (!message) return live.author.createMessage('assistant', []);
  if (kind === 'answer') return newAnswer(live, message);
  return kind === 'custom' ? withMetadata(newAnswer(live, message), { reason }) : message;
}

/** Returns the answer with ids of its own, unless the current turn has stored it already. */
function newAnswer(live: StepParts, message: Msg): Msg {
  const { messages, questionId } = live.log;
  const turn = messages.slice(messages.findLastIndex(({ id }) => id === questionId) + 1);
  const isStored = turn.some(
    ({ id, content }) => id === message.id && isSameJson(content, message.content),
  );
  return isStored ? live.author.asReply(message) : live.author.asNewReply(message);
}
