import type { AgentChatHelpers, AgentUIMessage } from '@isoloop/react';
import { useState } from 'react';
import { MessageForm, type Draft } from './message-form.tsx';
import { Part } from './part.tsx';
import { Queue } from './queue.tsx';
import { useNewestInView } from './use-newest-in-view.ts';
import type { Assistant } from './worker.ts';

interface ConversationProps {
  readonly chat: AgentChatHelpers<AgentUIMessage<Assistant>>;
  /** Advice to the user, shown after an error. */
  readonly hint?: string;
}

const statusTexts = {
  loading: 'Loading the conversation…',
  submitted: 'Waiting for the model…',
  streaming: 'Answering…',
  'other-tab': 'Answering a question of another tab…',
  continuing: 'Continuing the answer…',
  ready: '',
  error: '',
};

/** Questions for a new conversation. The second one needs an approval. */
const suggestions = ['What time is it in Tokyo?', 'Draw lots: Ann, Bob or Cem?'];

/** Shows the messages of a conversation, its error, and a form for the next message. */
export function Conversation({ chat, hint }: ConversationProps) {
  const [draft, setDraft] = useState<Draft>({ text: '' });
  const { messages, sendMessage, retry, stop, isBusy, status, error, approvals } = chat;
  useNewestInView(messages);
  const send = () => {
    void sendMessage(draft); // with a messageId, it replaces this message and all later ones
    setDraft({ text: '' });
  };
  const isUnanswered = status === 'ready' && messages.at(-1)?.role === 'user';
  return (
    <>
      {status === 'ready' && messages.length === 0 && (
        <div className="welcome">
          <h1>Ask the agent</h1>
          <p>It looks up the time, and draws lots if you allow it.</p>
          {suggestions.map((suggestion) => (
            <button key={suggestion} onClick={() => sendMessage({ text: suggestion })}>
              {suggestion}
            </button>
          ))}
          <small>Load the page again while it answers: the answer continues.</small>
        </div>
      )}
      {messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, index) => (
            <Part
              key={index}
              part={part}
              isRunning={isBusy && message === messages.at(-1)}
              approvals={approvals}
            />
          ))}
          {message.role === 'user' && !isBusy && (
            <button className="edit" onClick={() => setDraft(draftOf(message))}>
              Edit
            </button>
          )}
        </section>
      ))}
      <p role="status">{statusTexts[status]}</p>
      <Queue queued={chat.queued} onWithdraw={chat.withdraw} />
      {(error || isUnanswered) && (
        <p role="alert">
          {error?.message ?? 'This question has no answer.'} {hint}{' '}
          <button onClick={() => retry()}>Try again</button>
        </p>
      )}
      <MessageForm
        draft={draft}
        isBusy={isBusy}
        isLoading={status === 'loading'}
        onChange={setDraft}
        onSend={send}
        onStop={stop}
      />
    </>
  );
}

/** Returns the text of a message, to edit it. */
function draftOf({ id, parts }: AgentUIMessage<Assistant>): Draft {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
  return { text: texts.join(''), messageId: id };
}
