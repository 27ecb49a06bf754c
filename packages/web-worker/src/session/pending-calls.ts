import type { AgentEvent, PendingCall, ReActAgent } from '@isoloop/core';
import { pendingCallsOf } from '@isoloop/core/host';
import { toUiMessages, type UIMessage } from '@isoloop/core/stream';
import { pageGoneReason } from './page/remote-tools.ts';

/**
 * Returns a pending call as chats show it. If its page has gone, a person may allow the tool to run
 * again on another page.
 */
function shownCall(call: PendingCall): PendingCall {
  return call.reason === pageGoneReason ? { ...call, kind: 'replay' } : call;
}

/** Returns an event as chats show it. */
export function shownEvent(event: AgentEvent): AgentEvent {
  if (event.type !== 'suspended') return event;
  return { ...event, pending: event.pending.map(shownCall) };
}

/** Returns the tool calls that wait, as chats show them. */
async function shownCalls(agent: ReActAgent): Promise<readonly PendingCall[]> {
  const calls = await pendingCallsOf(agent);
  return calls.map(shownCall);
}

/** Returns the conversation in the form of `useChat`, with its pending approvals. */
export async function uiMessages(agent: ReActAgent): Promise<UIMessage[]> {
  const [messages, pending] = await Promise.all([agent.messages(), shownCalls(agent)]);
  return toUiMessages(messages, { pending });
}
