import { textOf, type AgentEvent, type JsonValue } from '@isoloop/core';
import { connectAgent, type ConnectOptions, type RemoteAgent } from '@isoloop/web-worker';
import { onTestFinished } from 'vitest';
import type { TabsFixtureName, TabsFixtureOptions, Witnessed } from './tabs.ts';
import { testDatabase } from './database.ts';

export type TabOptions = Omit<TabsFixtureOptions, 'database'>;

export interface Tab {
  readonly worker: Worker;
  /** Reports that the tab's worker has sent so far. */
  readonly told: readonly Witnessed[];
  connect(
    replies?: TabOptions['replies'],
    more?: Partial<TabOptions> & Pick<ConnectOptions, 'agent' | 'page'>,
  ): RemoteAgent;
  /** Opens a gate, at which the tab's worker waits. */
  open(gate: string): void;
  /** Freezes the tab's worker. Returns a function that wakes the worker. */
  freeze(): Promise<() => Promise<void>>;
  /** Resolves when the tab's worker has sent the report `witnessed`. */
  heard(witnessed: Witnessed): Promise<void>;
}

/** Opens tabs of one session. Each tab has its own worker. */
export function startTabs(): { open(name?: TabsFixtureName): Tab; readonly sessionId: string } {
  // It is deleted after the tabs have ended.
  const sessionId = testDatabase(`tabs-${crypto.randomUUID()}`);
  // Keeps connections reachable: a garbage-collected connection closes, and its tab leaves the
  // session.
  const kept = new Set<RemoteAgent>();
  // Without Web Locks, a page does not learn that a worker has ended.
  onTestFinished(() => kept.forEach((agent) => agent.close()));
  return {
    sessionId,
    open(name = {}) {
      const worker = new Worker(new URL('./tabs.ts', import.meta.url), {
        type: 'module',
        name: JSON.stringify(name),
      });
      onTestFinished(() => worker.terminate());
      const told: Witnessed[] = [];
      let wake = (): void => {};
      worker.addEventListener(
        'message',
        ({ data }: MessageEvent<{ readonly witnessed?: Witnessed }>) => {
          if (data.witnessed) told.push(data.witnessed);
          wake();
        },
      );
      const heard = async (witnessed: Witnessed): Promise<void> => {
        const has = (): boolean =>
          told.some((one) => JSON.stringify(one) === JSON.stringify(witnessed));
        while (!has()) await new Promise<void>((resolve) => (wake = resolve));
      };
      return {
        worker,
        told,
        connect: (replies = [], { agent, page, ...more } = {}) => {
          const options = { replies, database: sessionId, ...more } as unknown as JsonValue;
          const connected = connectAgent(worker, {
            sessionId,
            options,
            timeoutMs: 120_000,
            ...(agent !== undefined && { agent }),
            ...(page && { page }),
          });
          kept.add(connected);
          return connected;
        },
        open: (gate) => worker.postMessage({ open: gate }),
        async freeze() {
          const url = new URL(`/held/${crypto.randomUUID()}`, location.href).href;
          const release = async (): Promise<void> => void (await fetch(url, { method: 'POST' }));
          onTestFinished(release);
          worker.postMessage({ holdAt: url });
          await heard({ held: true });
          return release;
        },
        heard,
      };
    },
  };
}

/** Events that a test reads from a stream. */
export interface Reading {
  readonly events: readonly AgentEvent[];
  /** Resolves with the first event that fits. Events that were read before count too. */
  until(fits: (event: AgentEvent) => boolean): Promise<AgentEvent>;
}

export function read(source: AsyncIterable<AgentEvent>): Reading {
  const events: AgentEvent[] = [];
  let wake = (): void => {};
  const reading = async (): Promise<void> => {
    for await (const event of source) {
      events.push(event);
      wake();
    }
  };
  reading().catch(() => {});
  return {
    events,
    async until(fits) {
      for (let index = 0; ;) {
        const found = events.slice(index).find(fits);
        if (found) return found;
        index = events.length;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

export const says =
  (text: string) =>
  (event: AgentEvent): boolean =>
    event.type === 'reasoning-chunk' && event.delta.includes(text);
export const ends = (event: AgentEvent): boolean => event.type === 'run-end';
/**
 * Returns the text that a reader shows after these events. Each step of the loop clears the text,
 * and a `step-reset` replaces it.
 */
export function shown(events: readonly AgentEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'pre-reasoning') text = '';
    if (event.type === 'step-reset') text = event.replacement ? textOf(event.replacement) : '';
    if (event.type === 'reasoning-chunk' && event.kind === 'text') text += event.delta;
  }
  return text;
}

/**
 * Replies for a leader that a test stops in the middle of a run. By then the tool has run, and half
 * of the answer is streamed.
 */
export const cutOff: TabOptions['replies'] = [
  [{ toolCalls: [{ name: 'note', id: 'n1' }] }],
  [{ text: 'half of ' }, { gate: 'middle', text: 'the old answer' }],
];

/** Starts a run with the replies `cutOff` and waits until half of the answer is streamed. */
export async function leadHalfWay(tab: Tab, agent: RemoteAgent): Promise<Reading> {
  const reading = read(agent.stream('go'));
  await tab.heard({ reached: 'middle' });
  return reading;
}
