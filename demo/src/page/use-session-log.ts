import { toolUsesOf } from '@isoloop/core';
import { IndexedDbSessions } from '@isoloop/web-worker';
import type { SessionExport } from '@isoloop/web-worker';
import { useEffect, useState } from 'react';
import { toolRuns, type ToolRuns } from '../tools/tool-runs.ts';

export type LogRecord = SessionExport['records'][number];

export interface SessionLog {
  /** The records, without those of middleware. */
  readonly records: readonly LogRecord[];
  /** Number of calls of this session whose tools have finished. */
  readonly toolsRun: number;
  /** Number of these calls whose tools have finished more than once. */
  readonly ranTwice: number;
}

const empty: SessionLog = { records: [], toolsRun: 0, ranTwice: 0 };

/** Reads again so soon after a change, in milliseconds: a worker writes shortly after an event. */
const delayMs = 150;

/**
 * Reads the session's log from IndexedDB, past the agent, again whenever `revision` changes and
 * once shortly after that.
 */
export function useSessionLog(sessionId: string, revision: string): SessionLog {
  const [log, setLog] = useState(empty);
  useEffect(() => {
    let isCurrent = true;
    const read = async (): Promise<void> => {
      const next = await readLog(sessionId);
      if (isCurrent) setLog(next);
    };
    void read();
    const timer = setTimeout(() => void read(), delayMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [sessionId, revision]);
  return log;
}

async function readLog(sessionId: string): Promise<SessionLog> {
  const sessions = new IndexedDbSessions();
  const known = await sessions.list({ startsWith: sessionId });
  if (!known.some((session) => session.sessionId === sessionId)) return empty;
  const [{ records }, runs] = await Promise.all([sessions.export(sessionId), toolRuns()]);
  const counts = calls(records).map((id) => runsOf(runs, id));
  return {
    records: records.filter(({ kind }) => kind !== 'state'),
    toolsRun: counts.filter((count) => count > 0).length,
    ranTwice: counts.filter((count) => count > 1).length,
  };
}

function runsOf(runs: ToolRuns, toolUseId: string): number {
  return runs[toolUseId] ?? 0;
}

/** The log keeps the note that a tool has started only until its result is there. */
function calls(records: readonly LogRecord[]): readonly string[] {
  const ids = records.flatMap((record) =>
    'message' in record ? toolUsesOf(record.message).map(({ id }) => id) : [],
  );
  return [...new Set(ids)];
}
