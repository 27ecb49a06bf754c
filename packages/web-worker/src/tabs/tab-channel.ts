import { boundaryError } from '../wire/protocol.ts';
import { tabVersion, type TabMessage, type TabPost } from '../wire/tab-protocol.ts';

/**
 * BroadcastChannel between the tabs of one session. Adds the version and the id of this tab to each
 * message.
 */
export class TabChannel {
  readonly #channel: BroadcastChannel;
  readonly #from: string;
  #closed = false;

  constructor(channel: BroadcastChannel, from: string, onMessage: (message: TabMessage) => void) {
    this.#from = from;
    this.#channel = channel;
    channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => onMessage(data));
  }

  post(message: TabPost): void {
    if (this.#closed) return;
    const whole = { ...message, v: tabVersion, from: this.#from } as TabMessage;
    try {
      this.#channel.postMessage(whole);
    } catch (error) {
      if (message.type === 'done')
        return this.post({
          ...message,
          outcome: { ok: false, error: boundaryError(error).toJSON() },
        });
      // An event has a value that cannot be cloned, such as a tool's output. The other tabs get its
      // JSON form.
      this.#channel.postMessage(JSON.parse(JSON.stringify(whole)));
    }
  }

  close(): void {
    this.#closed = true;
    this.#channel.close();
  }
}
