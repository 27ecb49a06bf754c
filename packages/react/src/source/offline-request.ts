import { isOffline, untilOnline } from '../shared/page-life.ts';

/** Makes a request again when the browser is online, if it failed because it began offline. */
export class OfflineRequest {
  /** Whether a request waits until the browser is online. */
  isWaiting = false;

  async ask(request: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
    // Only a request that has begun offline is certain not to have left.
    const wasOffline = isOffline();
    try {
      return await request();
    } catch (error) {
      if (!wasOffline || !(error instanceof TypeError)) throw error;
    }
    this.isWaiting = true;
    await untilOnline(signal);
    this.isWaiting = false;
    signal.throwIfAborted();
    return this.ask(request, signal);
  }
}
