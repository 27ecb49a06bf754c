import { textOf, toolResultsOf, toolUsesOf, type Msg } from '@isoloop/core';
import { useEffect, useRef } from 'react';
import type { Home } from './settings.ts';
import type { LogRecord, SessionLog as Log } from './use-session-log.ts';

export interface SessionLogProps {
  readonly home: Home;
  readonly log: Log;
  readonly kills: number;
  /** Time to the first delta of the last answer, in milliseconds. */
  readonly firstTokenMs: number | undefined;
  /** Tokens of the last run. */
  readonly tokens: number | undefined;
}

/** Shows the records of the session log, and what the tools themselves have counted. */
export function SessionLog({ home, log, kills, firstTokenMs, tokens }: SessionLogProps) {
  const { records, writes, toolsRun, ranTwice } = log;
  const isHere = home === 'worker';
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const region = list.current;
    if (region) region.scrollTop = region.scrollHeight;
  }, [records.length]);
  return (
    <aside className="timeline log" aria-label="Session log">
      <h2>
        Session log{' '}
        <span className="muted">{isHere ? 'outside the worker' : 'on the object’s disk'}</span>
      </h2>
      <dl className="counts">
        <Count name={isHere ? 'workers killed' : 'objects killed'} value={kills} />
        <Count name="tools run" value={toolsRun} />
        <Count name="tools that ran twice" value={ranTwice} />
      </dl>
      <details className="figures">
        <summary>More figures</summary>
        <dl className="counts">
          <Count name="first token" value={firstTokenMs ? `${firstTokenMs} ms` : '–'} />
          <Count name="tokens of the run" value={tokens ?? '–'} />
          <Count name="writes to the log" value={writes ?? '–'} />
          <Count name="in the log" value={kilobytes(bytesOf(records))} />
          <Count name="page loaded" value={kilobytes(loadedBytes())} />
        </dl>
      </details>
      <div
        ref={list}
        className="timeline-list"
        tabIndex={0}
        role="region"
        aria-label="Records of the log"
      >
        {records.length === 0 && (
          <p className="muted">Each step is written here before the next one begins.</p>
        )}
        <ol>
          {records.map((record, index) => {
            const { label, detail } = rowOf(record);
            return (
              <li key={index} className="record">
                <code>{label}</code>
                <span className="entry-detail">{detail}</span>
              </li>
            );
          })}
        </ol>
      </div>
    </aside>
  );
}

/** Size of the records as JSON, in bytes. */
function bytesOf(records: readonly LogRecord[]): number {
  return records.length ? new TextEncoder().encode(JSON.stringify(records)).length : 0;
}

/**
 * Size of everything that the page has loaded over the network, compressed and with headers, in
 * bytes. What the browser has cached counts nothing.
 */
function loadedBytes(): number {
  const entries = ['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type));
  return (entries as PerformanceResourceTiming[]).reduce(
    (sum, { transferSize }) => sum + transferSize,
    0,
  );
}

function kilobytes(bytes: number): string {
  const kB = bytes / 1_000;
  return `${kB.toFixed(kB < 100 ? 1 : 0)} kB`;
}

function Count({ name, value }: { readonly name: string; readonly value: number | string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface Row {
  readonly label: string;
  readonly detail: string;
}

function rowOf(record: LogRecord): Row {
  switch (record.kind) {
    case 'message':
    case 'replace':
      return { label: record.message.role, detail: briefly(record.message) };
    case 'call-started':
      return { label: 'tool started', detail: record.toolUse?.name ?? shortId(record.toolUseId) };
    case 'decision':
      return { label: 'decision', detail: record.decision.type };
    case 'suspended':
      return {
        label: 'suspended',
        detail: record.calls.map(({ pending }) => `${pending.name}: ${pending.kind}`).join(', '),
      };
    case 'run-begin':
      return { label: 'run began', detail: shortId(record.runId) };
    case 'run-end':
      return { label: 'run ended', detail: record.reason };
    case 'summary':
      return { label: 'summary', detail: `of ${record.count} messages` };
    case 'truncate':
      return { label: 'truncate', detail: `${record.ids.length} messages` };
    default:
      return { label: record.kind, detail: '' };
  }
}

function briefly(message: Msg): string {
  const results = toolResultsOf(message).map(({ name, state }) => `${name}: ${state}`);
  const calls = toolUsesOf(message).map(({ name }) => `calls ${name}`);
  return [...results, ...calls, textOf(message)].filter(Boolean).join(', ').slice(0, 120);
}

function shortId(id: string): string {
  return id.slice(-8);
}
