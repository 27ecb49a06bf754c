import { boundaryError } from '../page/connection.ts';
import type { TabMessage, TabPost } from '../wire/tab-protocol.ts';

/** The channel on which the workers of one session hear each other. */
export class TabChannel {
  readonly #channel: BroadcastChannel;
  readonly #from: string;
  #closed = false;

  constructor(name: string, from: string, onMessage: (message: TabMessage) => void) {
    this.#from = from;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) =>
      onMessage(data),
    );
  }

  post(message: TabPost): void {
    if (this.#closed) return;
    const whole = { ...message, from: this.#from } as TabMessage;
    try {
      this.#channel.postMessage(whole);
    } catch (error) {
      if (message.type === 'done')
        return this.post({
          ...message,
          outcome: { ok: false, error: boundaryError(error).toJSON() },
        });
      // What a tool gave cannot be cloned: the other tabs get what of it is JSON.
      this.#channel.postMessage(JSON.parse(JSON.stringify(whole)));
    }
  }

  close(): void {
    this.#closed = true;
    this.#channel.close();
  }
}
