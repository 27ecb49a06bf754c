import { useEffect, useRef } from 'react';
import { toTimelineEntry, type TimelineItem } from './timeline-entry.ts';

export function Timeline({ events }: { readonly events: readonly TimelineItem[] }) {
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => {
    const list = end.current?.parentElement?.parentElement;
    if (list) list.scrollTop = list.scrollHeight;
  }, [events]);
  const starts = new Map<string, number>();
  for (const { runId, at } of events) if (!starts.has(runId)) starts.set(runId, at);

  return (
    <aside className="timeline" aria-label="Timeline">
      <h2>What the loop does</h2>
      <div className="timeline-list" tabIndex={0} role="region" aria-label="Events of the loop">
        {events.length === 0 && (
          <p className="muted">Reason, act, observe: each step shows here as it happens.</p>
        )}
        <ol>
          {events.map((event) => {
            const entry = toTimelineEntry(event);
            if (!entry) return null;
            return (
              <li
                key={`${event.runId}:${event.seq}`}
                className={`entry ${entry.kind} ${event.type}`}
              >
                <span className="dot" aria-hidden="true" />
                <span className="entry-text">
                  <span className="entry-label">{entry.label}</span>
                  {entry.detail && <span className="entry-detail">{entry.detail}</span>}
                </span>
                <span className="entry-time">
                  {event.at - (starts.get(event.runId) ?? event.at)} ms
                </span>
              </li>
            );
          })}
          <li ref={end} aria-hidden="true" className="end" />
        </ol>
      </div>
    </aside>
  );
}
