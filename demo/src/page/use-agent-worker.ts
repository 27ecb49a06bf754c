import { useCallback, useState } from 'react';

export interface AgentWorker {
  readonly worker: Worker;
  /** How many workers of this page were killed before this one. */
  readonly kills: number;
  /** Ends the worker in the middle of its work, and starts a new one. */
  readonly kill: () => void;
  /** Starts a worker in place of one that could not start. */
  readonly restart: () => void;
}

/** Starts the worker in which the agent of this page runs. */
export function useAgentWorker(): AgentWorker {
  const [current, setCurrent] = useState(() => ({ worker: startWorker(), kills: 0 }));
  const { worker, kills } = current;
  const kill = useCallback(() => {
    worker.terminate();
    setCurrent({ worker: startWorker(), kills: kills + 1 });
  }, [worker, kills]);
  const restart = useCallback(() => setCurrent({ worker: startWorker(), kills }), [kills]);
  return { worker, kills, kill, restart };
}

function startWorker(): Worker {
  return new Worker(new URL('../agent.worker.ts', import.meta.url), { type: 'module' });
}
