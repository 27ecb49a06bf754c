import type { AgentChatHelpers, QueuedMessage } from '@isoloop/react';

interface QueueProps {
  readonly queued: readonly QueuedMessage[];
  readonly onWithdraw: AgentChatHelpers['withdraw'];
}

/** Shows the messages that wait for the end of an answer. The user can take them back. */
export function Queue({ queued, onWithdraw }: QueueProps) {
  if (queued.length === 0) return null;
  return (
    <ul aria-label="Messages that wait">
      {queued.map(({ id, message, state, error }) => (
        <li key={id}>
          <span dir="auto">
            {message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
          </span>{' '}
          <small>{state === 'failed' ? `was not sent. ${error?.message ?? ''}` : 'waits.'}</small>{' '}
          <button onClick={() => onWithdraw(id)}>Withdraw</button>
        </li>
      ))}
    </ul>
  );
}
