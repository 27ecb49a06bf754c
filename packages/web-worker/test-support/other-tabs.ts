import type { RemoteAgent } from '@isoloop/web-worker';
import type { AbstractChat, UIMessage } from 'ai';

/** Shows the questions and streamed answers of other tabs in this tab's chat. */
export function followOtherTabs(agent: RemoteAgent, chat: AbstractChat<UIMessage>): () => void {
  const runs = agent.watch();
  const follow = async () => {
    let seen = '';
    for await (const { type, runId, agentPath } of runs) {
      const isAtWork = type === 'pre-reasoning' || type === 'pre-acting';
      if (!isAtWork || agentPath.length > 1 || runId === seen) continue;
      seen = runId;
      if (chat.status !== 'ready' && chat.status !== 'error') continue; // a run of this tab
      const before = await agent.uiMessages();
      chat.messages = before.slice(0, before.findLastIndex(({ role }) => role === 'user') + 1);
      await chat.resumeStream();
      const last = chat.lastMessage;
      const after = await agent.uiMessages();
      // Keeps messages that this tab has added meanwhile.
      if (chat.lastMessage === last) chat.messages = [...after];
    }
  };
  follow().catch(() => {}); // the connection has ended
  return () => void runs.cancel();
}
