import { Chat, useChat } from '@ai-sdk/react';
import { followAgent, type RemoteAgent } from '@isoloop/web-worker';
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { createElement, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startTabs } from '../../test-support/tabs-under-test.ts';

type Shown = ReturnType<typeof useChat>;

/** Mounts a chat component as one tab, with the tab's own agent. */
async function mount(agent: RemoteAgent): Promise<() => Shown> {
  const shownBy: { chat?: Shown } = {};
  const transport = agent.chatTransport();
  const resume = vi.spyOn(transport, 'reconnectToStream');
  const own = new Chat<UIMessage>({
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  function View(): ReactNode {
    const chat = useChat({ chat: own });
    useEffect(() => followAgent(agent, own), []);
    useEffect(() => void (shownBy.chat = chat));
    return null;
  }
  const root = createRoot(document.createElement('div'));
  root.render(createElement(View));
  onTestFinished(() => root.unmount());
  // If there is no run to resume, AI SDK sets the status to `ready`, even when a message was sent
  // meanwhile.
  await expect.poll(() => resume.mock.settledResults[0]?.type).toBe('fulfilled');
  await expect.poll(() => shownBy.chat?.status).toBe('ready');
  return () => shownBy.chat!;
}

const shown = ({ messages }: Shown) =>
  messages.map(({ role, parts }) => `${role}: ${parts.map(partText).filter(Boolean).join(' | ')}`);

function partText(part: UIMessage['parts'][number]): string {
  if (part.type === 'text') return part.text;
  return part.type === 'dynamic-tool' ? `${part.toolName} ${part.state}` : '';
}

test('useChat in two tabs shows the questions, answers and approvals of both tabs, and either tab can approve', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([
    [{ text: 'May I? ' }, { gate: 'asking', toolCalls: [{ name: 'ask', id: 'a1' }] }],
    [{ text: 'Done' }, { gate: 'answering', text: '.' }],
    'Bye.',
  ]);
  await leader.messages();
  const views = [await mount(leader), await mount(second.connect())];
  const [one, other] = views as [() => Shown, () => Shown];
  const bothShow = async (...lines: readonly string[]): Promise<void> => {
    for (const chat of views) await expect.poll(() => shown(chat())).toEqual(lines);
  };
  const bothReady = async (): Promise<void> => {
    for (const chat of views) await expect.poll(() => chat().status).toBe('ready');
  };

  void one().sendMessage({ text: 'go' });
  await bothShow('user: go', 'assistant: May I? ');
  first.open('asking');
  await bothShow('user: go', 'assistant: May I?  | ask approval-requested');
  await bothReady();
  void other().addToolApprovalResponse({ id: 'a1', approved: true });
  await bothShow('user: go', 'assistant: May I?  | ask output-available | Done');
  first.open('answering');
  await bothShow('user: go', 'assistant: May I?  | ask output-available | Done.');
  await bothReady();
  await other().sendMessage({ text: 'thanks' });
  await bothShow(
    'user: go',
    'assistant: May I?  | ask output-available | Done.',
    'user: thanks',
    'assistant: Bye.',
  );
  for (const chat of views) expect(chat().error).toBeUndefined();
  expect(second.told).toEqual([]);
});
