const channelName = 'isoloop:deletions';

/** Id of a session in the store of an agent with a name, or of the only agent of a worker. */
export function storedIdOf(agentName: string | undefined, sessionId: string): string {
  return agentName === undefined ? sessionId : `${agentName}/${sessionId}`;
}

interface DeletionMessage {
  readonly storedId: string;
  /** Time of the deletion, as `timeNow()` returns it. */
  readonly at: number;
}

/** Returns the time in milliseconds since 1970. All pages and workers share its exact clock. */
export function timeNow(): number {
  return performance.timeOrigin + performance.now();
}

/** Tells all pages and workers of the browser that a stored session was deleted at a time. */
export function postDeletion(storedId: string, at: number): void {
  const channel = openChannel();
  channel?.postMessage({ storedId, at } satisfies DeletionMessage);
  channel?.close();
}

/** Calls `listener` when the session is deleted. Returns a function that ends this. */
export function watchDeletions(storedId: string, listener: (at: number) => void): () => void {
  const channel = openChannel();
  channel?.addEventListener('message', ({ data }: MessageEvent<DeletionMessage>) => {
    if (data.storedId === storedId) listener(data.at);
  });
  return () => channel?.close();
}

/**
 * Returns `undefined` where the browser has no channels or refuses them. Each tab is then alone.
 */
function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(channelName);
  } catch {
    return undefined;
  }
}
