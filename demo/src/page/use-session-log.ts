import { toolUsesOf, type Msg } from '@isoloop/core';
import { IndexedDbSessions, type SessionExport } from '@isoloop/web-worker';
import { useEffect, useState } from 'react';
import { toolRuns, type ToolRuns } from '../tools/tool-runs.ts';
import type { Home } from './settings.ts';

export type LogRecord = SessionExport['records'][number];

export interface SessionLog {
  /** The records, without those of middleware. */
  readonly records: readonly LogRecord[];
  /** Number of writes to the log. `undefined` for a log without one. */
  readonly writes: number | undefined;
  /** Number of calls of this session whose tools have finished. */
  readonly toolsRun: number;
  /** Number of these calls whose tools have finished more than once. */
  readonly ranTwice: number;
}

const empty: SessionLog = { records: [], writes: undefined, toolsRun: 0, ranTwice: 0 };

/**
 * Delay before the log is read again after a change, in milliseconds: a worker writes the log
 * shortly after the event.
 */
const delayMs = 150;

/**
 * Reads the session's log past the agent, again whenever `revision` changes and once shortly after
 * that. A log that cannot be read at the moment, such as during a move, stays as it was.
 */
export function useSessionLog(home: Home, sessionId: string, revision: string): SessionLog {
  const [log, setLog] = useState(empty);
  useEffect(() => {
    let isCurrent = true;
    const read = async (): Promise<void> => {
      const next = await (home === 'worker' ? logHere(sessionId) : logAtEdge(sessionId));
      if (isCurrent) setLog(next);
    };
    const attempt = (): void => void read().catch(() => {});
    attempt();
    const timer = setTimeout(attempt, delayMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [home, sessionId, revision]);
  return log;
}

async function logHere(sessionId: string): Promise<SessionLog> {
  const sessions = new IndexedDbSessions();
  const known = await sessions.list({ startsWith: sessionId });
  const info = known.find((session) => session.sessionId === sessionId);
  if (!info) return empty;
  const [{ records }, runs] = await Promise.all([sessions.export(sessionId), toolRuns()]);
  return { ...toLog(records, runs), writes: info.version };
}

/** Reads the log with a route that only an edge on this machine has. */
async function logAtEdge(sessionId: string): Promise<SessionLog> {
  const response = await fetch(`/api/demo/${encodeURIComponent(sessionId)}/log`);
  if (response.status !== 200) return empty;
  const { records, writes, runs } = (await response.json()) as EdgeLog;
  // A conversation that came from this browser has calls that ran here.
  return { ...toLog(records, { ...(await toolRuns()), ...runs }), writes };
}

interface EdgeLog {
  readonly records: readonly LogRecord[];
  readonly writes: number | undefined;
  readonly runs: ToolRuns;
}

function toLog(records: readonly LogRecord[], runs: ToolRuns): SessionLog {
  const counts = calls(records).map((id) => runs[id] ?? 0);
  return {
    records: records.filter(({ kind }) => kind !== 'state'),
    writes: undefined,
    toolsRun: counts.filter((count) => count > 0).length,
    ranTwice: counts.filter((count) => count > 1).length,
  };
}

/** The log keeps the note that a tool has started only until its result is there. */
function calls(records: readonly LogRecord[]): readonly string[] {
  const ids = messagesIn(records).flatMap((message) => toolUsesOf(message).map(({ id }) => id));
  return [...new Set(ids)];
}

function messagesIn(records: readonly LogRecord[]): readonly Msg[] {
  return records.flatMap((record) => ('message' in record ? record.message : []));
}

/** What the log says about the answer to a question. */
export interface LoggedAnswer {
  /** Name of the model that wrote it. */
  readonly model: string | undefined;
  /** Whether a person stopped it, or the model broke off. */
  readonly isPartial: boolean;
}

/** Returns the answers in a log, one for each question. */
export function answersIn(records: readonly LogRecord[]): readonly LoggedAnswer[] {
  const answers: LoggedAnswer[] = [];
  for (const { role, metadata } of messagesIn(records)) {
    if (role === 'user') answers.push({ model: undefined, isPartial: false });
    const last = answers.at(-1);
    if (role !== 'assistant' || !last) continue;
    const model = metadata?.['model'];
    answers[answers.length - 1] = {
      model: typeof model === 'string' ? model : last.model,
      isPartial: metadata?.['partial'] !== undefined,
    };
  }
  return answers;
}
