/** Uses a storage of the browser. Returns `undefined` if the browser refuses it. */
export function tryStorage<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
