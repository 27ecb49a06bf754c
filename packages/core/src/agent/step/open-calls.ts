import type { PendingCall } from '../../event/pending-call.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import { toolResult } from '../../tool/tool-result.ts';
import type { OpenCall } from '../middleware.ts';
import type { Run } from '../run/run.ts';

/**
 * Returns the tool calls without a result, with what the log says about them. Each call that the
 * reply makes beyond `limits.replyCalls` has an error result. A call that waits for somebody came
 * before the limit.
 */
export function openCallsOf(run: Run): readonly OpenCall[] {
  const { status, memory } = run.setup;
  const { replyCalls } = run.options.limits;
  const reply = run.messages.findLast(({ role }) => role === 'assistant');
  const isLong = reply && reply.content.length > replyCalls;
  const late = new Set(isLong ? toolUsesOf(reply).slice(replyCalls) : []);
  const output = `Error: A reply may have ${replyCalls} tool calls. Make this call again later.`;
  return run.conversation.openCalls().map((asked): OpenCall => {
    const known = status.calls.get(asked.id);
    // Nobody noted whether the tool has started. It counts as started, so that it runs at most once.
    const state = known ?? { started: memory.openCalls !== 'run' };
    const isRefused = late.has(asked) && !state.pending && !state.decision;
    return {
      toolUse: state.toolUse ?? asked,
      state,
      isKnown: known !== undefined,
      ...(isRefused && { result: toolResult(asked, output, 'error') }),
    };
  });
}

/** Returns what the open tool calls wait for, in the order of the tool calls. */
export function pendingCallsOf(run: Run): readonly PendingCall[] {
  return run.openCalls.flatMap(({ state }) => state.pending ?? []);
}
