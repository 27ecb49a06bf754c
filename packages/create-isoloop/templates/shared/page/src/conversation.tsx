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

/** Questions for a new conversation. The second one needs an approval. */
const suggestions = ['What time is it in Tokyo?', 'Draw lots: Ann, Bob or Cem?'];

/** Shows the messages of a conversation, its error, and a form for the next message. */
export function Conversation({ chat, hint }: ConversationProps) {
  const [text, setText] = useState('');
  const { messages, sendMessage, retry, stop, isBusy, status, error, approvals } = chat;
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
        className="message"
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
