import { useSyncExternalStore } from 'react';

interface ConversationListProps {
  readonly list: readonly { readonly sessionId: string; readonly title?: string }[] | undefined;
  readonly current: string;
  readonly onDelete: (sessionId: string) => Promise<void>;
}

/**
 * Shows a link to each conversation, and one to a new conversation. The open one can be deleted.
 */
export function ConversationList({ list = [], current, onDelete }: ConversationListProps) {
  return (
    <nav>
      <a href={`#${crypto.randomUUID()}`}>New conversation</a>
      {list.map(({ sessionId, title = 'Untitled' }) => (
        <a
          key={sessionId}
          dir="auto"
          href={`#${sessionId}`}
          aria-current={sessionId === current && 'page'}
        >
          {title}
        </a>
      ))}
      {list.some(({ sessionId }) => sessionId === current) && (
        <button
          onClick={async () => {
            await onDelete(current);
            location.hash = crypto.randomUUID();
          }}
        >
          Delete this one
        </button>
      )}
    </nav>
  );
}

/** Returns the session id in the page's address, so that a reload shows the same conversation. */
export function useSessionId(): string {
  return useSyncExternalStore(watchHash, () => location.hash.slice(1) || 'first');
}

function watchHash(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}
