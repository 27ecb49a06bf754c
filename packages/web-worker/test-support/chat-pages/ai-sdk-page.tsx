import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import { ChatView } from './chat-view.tsx';

const api = '/api/chat';
const transport = new DefaultChatTransport({ api });

export function ChatPage({ id }: { readonly id: string }): ReactNode {
  const [history, setHistory] = useState<UIMessage[]>();
  const [error, setError] = useState<Error>();
  const load = useCallback(async (): Promise<void> => {
    try {
      setError(undefined);
      const response = await fetch(`${api}/${id}/messages`);
      if (!response.ok) throw new Error(await response.text());
      setHistory(((await response.json()) as { messages: UIMessage[] }).messages);
    } catch (failure) {
      setError(failure as Error);
    }
  }, [id]);
  useEffect(() => void load(), [load]);
  if (history) return <Chat key={id} id={id} history={history} />;
  return error && <button onClick={load}>{error.message}: load again</button>;
}

function Chat({ id, history }: { readonly id: string; readonly history: UIMessage[] }): ReactNode {
  const chat = useChat({
    id,
    messages: history,
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const stop = async (): Promise<void> => {
    await fetch(`${api}/${id}/interrupt`, { method: 'POST', body: '{"mode":"abort"}' });
    await chat.stop();
  };
  return (
    <ChatView
      messages={chat.messages}
      isBusy={chat.status === 'submitted' || chat.status === 'streaming'}
      error={chat.error}
      onSend={chat.sendMessage}
      onEdit={(messageId, text) => chat.sendMessage({ text, messageId })}
      onDecide={(approvalId, approved) =>
        chat.addToolApprovalResponse({ id: approvalId, approved })
      }
      onStop={stop}
      onRetry={() => chat.regenerate()}
    />
  );
}
