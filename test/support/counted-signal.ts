/** Creates a signal, and a function that returns how many listeners it has. */
export function countedSignal(): {
  readonly signal: AbortSignal;
  readonly listeners: () => number;
} {
  const { signal } = new AbortController();
  let count = 0;
  const listen = signal.addEventListener.bind(signal) as (...given: unknown[]) => void;
  const unlisten = signal.removeEventListener.bind(signal) as (...given: unknown[]) => void;
  signal.addEventListener = (...given: unknown[]): void => void ((count += 1), listen(...given));
  signal.removeEventListener = (...given: unknown[]): void =>
    void ((count -= 1), unlisten(...given));
  return { signal, listeners: () => count };
}
