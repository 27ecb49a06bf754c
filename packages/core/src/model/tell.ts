/** Calls a listener. One that throws is the listener's trouble: it goes to the console, and what it was told of goes on. */
export function tell<T>(listener: ((told: T) => void) | undefined, told: T): void {
  try {
    listener?.(told);
  } catch (error) {
    console.warn('A listener failed.', error);
  }
}
