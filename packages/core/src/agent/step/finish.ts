import { withMetadata } from '../../message/metadata-keys.ts';
import type { AgentResult, StopReason } from '../../event/agent-result.ts';
import { textOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { closeCalls } from './conclude.ts';
import type { EndFields, Ending, ToldReason } from '../next.ts';
import type { Run } from '../run/run.ts';

/**
 * Ends an agent call that was interrupted, paused, aborted or refused. Stores the part of the reply
 * that readers have, marked with `metadata.partial`. Closes the open tool calls, except for a pause.
 * Rejects with the failure of the agent call, if a failure stopped it.
 */
export async function endStopped(run: Run, partial?: Msg): Promise<Ending> {
  if (run.signal.aborted) run.moveTo('stopping');
  if (partial) await run.append([partial]);
  if (run.stopped !== 'suspended') await closeCalls(run);
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
      return answer(run, message, { reason: 'rejected', error: error.toJSON() });
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
      return answer(run, given, { reason: 'interrupted' });
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
export function answer(run: Run, given: Msg, end: EndFields<ToldReason>): Ending {
  const message = withMetadata(run.asReply(given), { reason: end.reason });
  return { ...end, kind: 'told', message };
}

/** Returns whether the next agent call continues with the open tool calls. */
export function keepsCalls({ reason }: Ending): boolean {
  return reason === 'suspended' || reason === 'stopped-by-hook';
}

/** Reasons of agent calls whose last message is no answer for the `post-call` hooks. */
const withoutAnswer: readonly StopReason[] = ['aborted', 'interrupted', 'rejected'];

/** Passes the answer through the hooks, and stores it and the end of the run. */
export async function finish(run: Run, ending: Ending): Promise<AgentResult> {
  run.moveTo('ending');
  let { message = run.message('assistant', []) } = ending;
  run.lastReply = ending.reason === 'rejected' ? undefined : message;
  if (ending.kind === 'told') await tellText(run, message);
  if (ending.reason === 'suspended')
    await run.outbox.tell('suspended', { pending: run.calls.pending() });
  // An earlier run passed a stored answer through the hooks.
  if (ending.kind === 'stored') await run.outbox.tell('post-call', { message });
  else if (!withoutAnswer.includes(ending.reason)) {
    const event = await run.outbox.revise('post-call', { message });
    message = event.message;
  }
  // If the agent call was aborted before its answer, the message is empty.
  const isInLog = run.conversation.has(message.id);
  if (message.content.length && ending.reason !== 'rejected' && !isInLog) {
    // `close` writes the answer together with the end of the run, unless it has to wait before.
    await run.append([message], { later: !run.lastWork.length });
    // A wrapper may end the run with a reply whose tool calls do not run.
    if (toolUsesOf(message).length && !keepsCalls(ending)) await closeCalls(run);
  }
  await run.close(ending.reason);
  return resultOf(run, ending, message);
}

/** Returns the result of an agent call that ends in this way. */
export function resultOf(
  run: Run,
  { reason, output, error, stoppedAt }: EndFields,
  message: Msg = run.message('assistant', []),
): AgentResult {
  return {
    text: textOf(message),
    reason,
    ...(output !== undefined && { output }),
    ...(error && { error }),
    ...(stoppedAt && { stoppedAt }),
    message,
    ...(run.warnings[0] && { warnings: run.warnings }),
    usage: run.usage,
    toolsUsed: toolsUsedBy(run),
    durationMs: run.now() - run.startedAt,
    iterations: run.iteration,
    pending: run.calls.pending(),
    sessionVersion: run.setup.memory.sessionVersion ?? 0,
  } as AgentResult;
}

/** Returns the names of the used tools, in the order of the calls. */
function toolsUsedBy({ toolsUsed, messages }: Run): readonly string[] {
  if (!toolsUsed.size) return [];
  const names = messages.flatMap(toolUsesOf).map(({ id }) => toolsUsed.get(id));
  return [...new Set(names)].filter((name) => name !== undefined);
}

/** Sends the text of a message that no model streams to the readers. */
export function tellText(run: Run, message: Msg): Promise<void> {
  const blockId = `${message.id}:0`;
  return run.outbox.tell('reasoning-chunk', { blockId, kind: 'text', delta: textOf(message) });
}
