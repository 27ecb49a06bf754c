import { useState } from 'react';
import type { Home } from './settings.ts';
import type { AgentWorker } from './use-agent-worker.ts';

export interface Kill {
  /** How many workers, or Durable Objects, this page has killed. */
  readonly kills: number;
  readonly kill: () => void;
}

/** Whether the edge runs on this machine. Only there it offers the route that kills a session. */
const isLocalEdge = ['localhost', '127.0.0.1'].includes(location.hostname);

/** Kills what runs the agent of a conversation. `undefined` if the page may not do that. */
export function useKill(home: Home, sessionId: string, worker: AgentWorker): Kill | undefined {
  const [kills, setKills] = useState(0);
  if (home === 'worker') return worker;
  if (!isLocalEdge) return undefined;
  return {
    kills,
    kill() {
      setKills(kills + 1);
      const route = `/api/demo/${encodeURIComponent(sessionId)}/kill`;
      // The answer does not matter: a killed object gives none.
      void fetch(route, { method: 'POST' }).catch(() => {});
    },
  };
}
