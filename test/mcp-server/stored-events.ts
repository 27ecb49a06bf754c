import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

type Message = Parameters<EventStore['storeEvent']>[1];

/** Stores a server's events in order, so that a client can resume a stream after any event. */
export class StoredEvents implements EventStore {
  readonly #events: { readonly streamId: string; readonly message: Message }[] = [];

  async storeEvent(streamId: string, message: Message): Promise<string> {
    return String(this.#events.push({ streamId, message }) - 1);
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.#events[Number(eventId)]?.streamId;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (eventId: string, message: Message) => Promise<void> },
  ): Promise<string> {
    const streamId = (await this.getStreamIdForEventId(lastEventId)) ?? '';
    for (const [index, event] of this.#events.entries()) {
      if (index > Number(lastEventId) && event.streamId === streamId)
        await send(String(index), event.message);
    }
    return streamId;
  }
}
