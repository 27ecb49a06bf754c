import { misconfigured } from '../../error/agent-error.ts';
import { isSameJson } from '../../message/json.ts';
import { withMetadata } from '../../message/metadata.ts';
import type { StopReason } from '../../event/agent-result.ts';
import { textOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import { interruptOpenCalls } from './close-calls.ts';
import type { EndBase, Ending } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import { isRejection } from '../../wait/halt.ts';
import { revise, type JumpParts } from './jump.ts';

/** The parts of a run with which it ends. */
export type EndParts = JumpParts & Pick<LiveRun, 'tools'>;

// If something stops a run, `endStopped` says how it ends. `finish` carries out each ending.

/**
 * Returns the ending of an agent call that was interrupted, paused, aborted or refused. Stores
 * `partial`, the part of the reply that readers have. The answer to an interrupt is its message or
 * the recovery message. If a failure stopped the agent call, rejects with it, after it has closed
 * the open tool calls.
 */
export async function endStopped(run: EndParts, partial?: Msg): Promise<Ending> {
  if (run.ending.aborted) run.ending.enterStage('aborting');
  if (partial) await run.log.append([partial]);
  const { halt } = run.ending;
  switch (halt.kind) {
    case 'failed':
      await interruptOpenCalls(run);
      throw halt.error;
    case 'rejected': {
      const { error } = halt;
      const message = run.author.createMessage('assistant', error.message);
      return { kind: 'custom', reason: 'rejected', error: error.toJSON(), message };
    }
    case 'suspended': {
      const last = run.log.messages.findLast(({ role }) => role !== 'tool');
      const message = last?.role === 'assistant' ? last : undefined;
      return { kind: 'unanswered', reason: 'suspended', message };
    }
    case 'interrupted': {
      const { message = run.author.createMessage('assistant', run.options.recoveryMessage) } = halt;
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
export async function endThrown(run: EndParts, thrown: unknown): Promise<Ending> {
  const isStop = run.log.hasBegun && run.waits.isStop(thrown);
  if (isStop || run.waits.isAbort(thrown)) return endStopped(run, run.outbox.unstoredReply());
  if (isRejection(thrown)) {
    run.ending.haltWith(thrown);
    return endStopped(run);
  }
  // A wrapper may fail after the log has got the reply with its tool calls.
  await interruptOpenCalls(run).catch(() => {});
  throw thrown;
}

/** Reasons of agent calls whose last message is no answer for the `post-call` hooks. */
const withoutAnswer: readonly StopReason[] = ['aborted', 'interrupted', 'rejected'];

/** How a run has ended, with its last message. */
export type RunOutcome = EndBase & { readonly message?: Msg | undefined };

/** Carries out an ending. If the run is aborted meanwhile, ends it as aborted. */
export async function finish(run: EndParts, ending: Ending): Promise<RunOutcome> {
  try {
    return await carryOut(run, ending);
  } catch (thrown) {
    if (!run.waits.isAbort(thrown)) throw thrown;
    const reply = ending.reason === 'rejected' ? undefined : run.outbox.unstoredReply();
    return carryOut(run, await endStopped(run, reply));
  }
}

async function carryOut(run: EndParts, ending: Ending): Promise<RunOutcome> {
  const { reason, keepsCalls = reason === 'suspended' } = ending;
  if (!keepsCalls) await interruptOpenCalls(run);
  run.ending.enterStage('ending');
  const message = await answerAfterHooks(run, ending);
  // If the agent call was aborted before its answer, the message is empty.
  const isNew = message.content.length > 0 && !run.log.conversation.has(message.id);
  if (isNew && reason !== 'rejected') {
    // `writeEnd` writes the answer together with the end of the run, unless it has to wait before.
    await run.log.append([message], { later: !run.log.beforeEnd.length });
    // A wrapper may end the run with a reply whose tool calls do not run.
    if (!keepsCalls && toolUsesOf(message).length) await interruptOpenCalls(run);
  }
  return { ...ending, message };
}

/**
 * Tells hooks and readers how the run ends. Returns the answer as the `post-call` hooks left it.
 */
async function answerAfterHooks(run: JumpParts, ending: Ending): Promise<Msg> {
  const { kind, reason } = ending;
  const isCustom = kind === 'custom';
  const isNew = isCustom || kind === 'answer';
  const message = messageOf(run, ending);
  const { outbox } = run;
  const readersText = textOf(outbox.unstoredReply() ?? message);
  const isReplaced = readersText && readersText !== textOf(message);
  // Only now, because an abort in a wrapper must not drop a text that readers have.
  if (isReplaced) {
    const replacement = isNew ? { replacement: message } : {};
    await outbox.emit('step-reset', { reason: kind, ...replacement });
  } else if (isCustom) await outbox.sendText(message);
  if (reason === 'suspended') await outbox.emit('suspended', { pending: run.calls.pending });
  // An earlier run passed a stored answer through the hooks.
  if (kind === 'stored') await outbox.emit('post-call', { message });
  if (kind === 'stored' || withoutAnswer.includes(reason)) return message;
  const { event } = await revise(run, 'post-call', { message });
  const isChanged = event.message !== message && run.log.conversation.has(event.message.id);
  if (isChanged) await run.log.edit({ replace: [event.message] });
  return event.message;
}

/** Returns the message with which a run ends, before the `post-call` hooks. */
function messageOf(run: Pick<LiveRun, 'author' | 'log'>, { kind, reason, message }: Ending): Msg {
  if (!message) return run.author.createMessage('assistant', []);
  if (kind === 'answer') return newAnswer(run, message);
  return kind === 'custom' ? withMetadata(newAnswer(run, message), { reason }) : message;
}

/** Returns the answer with ids of its own, unless the current turn has stored it already. */
function newAnswer(run: Pick<LiveRun, 'author' | 'log'>, message: Msg): Msg {
  const { messages, questionId } = run.log;
  const turn = messages.slice(messages.findLastIndex(({ id }) => id === questionId) + 1);
  const isStored = turn.some(
    ({ id, content }) => id === message.id && isSameJson(content, message.content),
  );
  return isStored ? run.author.asReply(message) : run.author.asNewReply(message);
}
