import type { AgentChatHelpers, QueuedMessage } from '@isoloop/react';
import { textOfMessage } from './message-parts.ts';

export interface QueueProps {
  readonly queued: readonly QueuedMessage[];
  readonly onWithdraw: AgentChatHelpers['withdraw'];
}

/** Shows the messages that wait for the end of an answer. A person can take them back. */
export function Queue({ queued, onWithdraw }: QueueProps) {
  if (queued.length === 0) return null;
  return (
    <ul className="queue" aria-label="Messages that wait">
      {queued.map(({ id, message, state, error }) => (
        <li key={id}>
          <span className="queued-text" dir="auto">
            {textOfMessage(message) || 'A file'}
          </span>
          <span className="muted">{state === 'failed' ? error?.message : 'waits'}</span>
          <button type="button" onClick={() => void onWithdraw(id)}>
            Withdraw
          </button>
        </li>
      ))}
    </ul>
  );
}
