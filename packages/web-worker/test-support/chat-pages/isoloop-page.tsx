import { agentEndpoint, useAgentChat } from '@isoloop/react';
import type { ReactNode } from 'react';
import { ChatView } from './chat-view.tsx';

const endpoint = agentEndpoint('/api/chat');

export function ChatPage({ id }: { readonly id: string }): ReactNode {
  const chat = useAgentChat(endpoint, { sessionId: id });
  return (
    <ChatView
      messages={chat.messages}
      isBusy={chat.isBusy}
      error={chat.error}
      onSend={chat.sendMessage}
      onEdit={(messageId, text) => chat.sendMessage({ text, messageId })}
      onDecide={(approvalId, approved) =>
        chat.addToolApprovalResponse({ id: approvalId, approved })
      }
      onStop={chat.stop}
      onRetry={chat.retry}
    />
  );
}
