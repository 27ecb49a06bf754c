import type { AgentChatHelpers, AgentUIMessage } from '@isoloop/web-worker/react';
import { useState } from 'react';
import { Part } from './part.tsx';
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

/** Shows the messages of a conversation, its error, and a form for the next message. */
export function Conversation({ chat, hint }: ConversationProps) {
  const [text, setText] = useState('');
  const { messages, sendMessage, retry, stop, isBusy, status, error, approvals } = chat;
  const isUnanswered = status === 'ready' && messages.at(-1)?.role === 'user';
  return (
    <>
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
        </section>
      ))}
      <p role="status">{statusTexts[status]}</p>
      {(error || isUnanswered) && (
        <p role="alert">
          {error?.message ?? 'This question has no answer.'} {hint}{' '}
          <button onClick={() => retry()}>Try again</button>
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input
          aria-label="Your message"
          placeholder="What time is it in Tokyo?"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button disabled={isBusy || status === 'loading' || !text.trim()}>Send</button>
        <button type="button" disabled={!isBusy} onClick={() => stop()}>
          Stop
        </button>
      </form>
    </>
  );
}
