import type { UseChatHelpers } from '@ai-sdk/react';
import type { RemoteAgent } from '@isoloop/web-worker';
import type { UIMessage } from 'ai';
import { useEffect, useRef } from 'react';

/** Shows the questions and streamed answers of other tabs in this tab's chat. */
export function useOtherTabs(
  agent: RemoteAgent,
  { status, setMessages, resumeStream }: UseChatHelpers<UIMessage>,
): void {
  const isIdle = useRef(false);
  useEffect(() => {
    isIdle.current = status === 'ready' || status === 'error';
  });
  useEffect(() => {
    const runs = agent.watch();
    const follow = async () => {
      let seen = '';
      for await (const { type, runId, agentPath } of runs) {
        const isAtWork = type === 'pre-reasoning' || type === 'pre-acting';
        if (!isAtWork || agentPath.length > 1 || runId === seen) continue;
        seen = runId;
        if (!isIdle.current) continue; // a run of this tab
        const before = await agent.uiMessages();
        setMessages(before.slice(0, before.findLastIndex(({ role }) => role === 'user') + 1));
        await resumeStream();
        let last: UIMessage | undefined;
        setMessages((now) => {
          last = now.at(-1);
          return now;
        });
        const after = await agent.uiMessages();
        // Keeps messages that this tab has added meanwhile.
        setMessages((now) => (now.at(-1) === last ? [...after] : now));
      }
    };
    follow().catch(() => {}); // the connection has ended
    return () => void runs.cancel();
  }, [agent, setMessages, resumeStream]);
}
