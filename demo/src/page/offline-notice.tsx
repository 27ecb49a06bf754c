import type { AgentChatStatus } from '@isoloop/react';
import { useSyncExternalStore } from 'react';
import { offlineFix } from './readable-error.ts';
import type { Home } from './settings.ts';

export interface OfflineNoticeProps {
  readonly home: Home;
  readonly status: AgentChatStatus;
}

/** Says why no answer comes from the edge. A worker of this tab needs no network to continue. */
export function OfflineNotice({ home, status }: OfflineNoticeProps) {
  const isOnline = useSyncExternalStore(onNetwork, () => navigator.onLine);
  const isWaiting = status === 'submitted' || status === 'continuing';
  if (isOnline || home === 'worker' || !isWaiting) return null;
  return (
    <div className="notice" role="alert">
      <p>{offlineFix} Your conversation is kept.</p>
    </div>
  );
}

function onNetwork(listener: () => void): () => void {
  window.addEventListener('online', listener);
  window.addEventListener('offline', listener);
  return () => {
    window.removeEventListener('online', listener);
    window.removeEventListener('offline', listener);
  };
}
