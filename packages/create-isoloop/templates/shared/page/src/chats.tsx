import { useSyncExternalStore } from 'react';

interface ChatsProps {
  readonly list: readonly { readonly sessionId: string; readonly title?: string }[] | undefined;
  readonly current: string;
}

/** Links to a new chat and to all chats. */
export function Chats({ list = [], current }: ChatsProps) {
  return (
    <nav>
      <a href={`#${crypto.randomUUID()}`}>New chat</a>
      {list.map(({ sessionId, title = 'Untitled' }) => (
        <a key={sessionId} href={`#${sessionId}`} aria-current={sessionId === current && 'page'}>
          {title}
        </a>
      ))}
    </nav>
  );
}

/** Returns the id in the page's address, so that a reload shows the same chat. */
export function useChatId(): string {
  return useSyncExternalStore(watchHash, () => location.hash.slice(1) || 'first');
}

function watchHash(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}
