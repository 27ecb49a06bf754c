import type { AgentEvent, Memory, PendingCall, ReActAgent } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/host';
import { toUiMessages, type UiMessage } from '@isoloop/core/stream';
import { pageGoneReason } from './page/remote-tools.ts';

/** Returns the view of a memory's stored log. Returns `undefined` for a memory without a log. */
export async function storedView(
  memory: Memory & { view?(): Promise<SessionView> },
): Promise<SessionView | undefined> {
  return memory.view?.();
}

/**
 * Returns the tool calls that wait for a decision or a result. Without an active run, reads them
 * from the log, because a new agent does not know them before its first run.
 */
export async function pendingCalls({
  memory,
  status,
  busy,
}: ReActAgent): Promise<readonly PendingCall[]> {
  const view = busy ? undefined : storedView(memory);
  const calls = (await view)?.calls ?? status.calls;
  return [...calls.values()].flatMap(({ pending }) => pending ?? []);
}

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
export async function shownCalls(agent: ReActAgent): Promise<readonly PendingCall[]> {
  const calls = await pendingCalls(agent);
  return calls.map(shownCall);
}

/** Returns the conversation in the form of `useChat`, with its pending approvals. */
export async function uiMessages(agent: ReActAgent): Promise<UiMessage[]> {
  const [messages, pending] = await Promise.all([agent.messages(), shownCalls(agent)]);
  return toUiMessages(messages, { pending });
}
