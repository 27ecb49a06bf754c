import type { Memory, PendingCall, ReActAgent } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/adapter';
import { toUiMessages, type UiMessage } from '@isoloop/core/ai-sdk';

/** What a log in a store tells; nothing of a memory that has none. */
export async function viewOf(
  memory: Memory & { view?(): Promise<SessionView> },
): Promise<SessionView | undefined> {
  return memory.view?.();
}

/** The tool calls that wait for somebody: the log knows of them where the agent has not run yet. */
export async function pendingCalls({
  memory,
  status,
  busy,
}: ReActAgent): Promise<readonly PendingCall[]> {
  const view = busy ? undefined : viewOf(memory);
  const calls = (await view)?.calls ?? status.calls;
  return [...calls.values()].flatMap(({ pending }) => pending ?? []);
}

/** The conversation as `useChat` shows it, with the approvals it waits for. */
export async function uiMessages(agent: ReActAgent): Promise<UiMessage[]> {
  const [messages, pending] = await Promise.all([agent.messages(), pendingCalls(agent)]);
  return toUiMessages(messages, { pending });
}
