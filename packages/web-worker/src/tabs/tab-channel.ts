import { boundaryError } from '../wire/protocol.ts';
import { tabVersion, type TabMessage, type TabPost } from '../wire/tab-protocol.ts';

/**
 * BroadcastChannel between the tabs of one session. Adds the version and the id of this tab to each
 * message.
 */
export class TabChannel {
  readonly #channel: BroadcastChannel;
  readonly #senderId: string;
  #isClosed = false;

  constructor(
    channel: BroadcastChannel,
    senderId: string,
    onMessage: (message: TabMessage) => void,
  ) {
    this.#senderId = senderId;
    this.#channel = channel;
    channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => onMessage(data));
  }

  post(message: TabPost): void {
    if (this.#isClosed) return;
    const fullMessage = { ...message, version: tabVersion, senderId: this.#senderId } as TabMessage;
    try {
      this.#channel.postMessage(fullMessage);
    } catch (error) {
      if (message.type === 'done')
        return this.post({
          ...message,
          outcome: { ok: false, error: boundaryError(error).toJSON() },
        });
      // An event has a value that cannot be cloned, such as a tool's output. The other tabs get its
      // JSON form.
      this.#channel.postMessage(JSON.parse(JSON.stringify(fullMessage)));
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#channel.close();
  }
}
