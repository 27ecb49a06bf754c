import type { AgentEvent } from '@isoloop/core';
import type { InspectedEvent, InspectorSession, InspectorSource } from '@isoloop/inspector';

/** The agents of one run of an example, as a source for the inspector. They have no stored log. */
export class ExampleSource implements InspectorSource {
  readonly #events = new Map<string, InspectedEvent[]>();
  readonly #readers = new Set<() => void>();

  /** Number of conversations with events. */
  get size(): number {
    return this.#events.size;
  }

  add(event: AgentEvent): void {
    const known = this.#events.get(event.sessionId) ?? [];
    this.#events.set(event.sessionId, [...known, { ...event }]);
    for (const wake of this.#readers) wake();
  }

  sessions(): Promise<readonly InspectorSession[]> {
    const found = [...this.#events].map(([sessionId, [first]]) => ({
      sessionId,
      title: first?.agentPath[0],
      updatedAt: Number(first?.['at'] ?? 0),
    }));
    return Promise.resolve(found);
  }

  records(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  async *events(sessionId: string, signal: AbortSignal): AsyncGenerator<readonly InspectedEvent[]> {
    let shown = 0;
    while (!signal.aborted) {
      const news = this.#events.get(sessionId)?.slice(shown) ?? [];
      shown += news.length;
      if (news.length > 0) yield news;
      else await this.#change(signal);
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#readers.delete(wake);
        resolve();
      };
      this.#readers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
