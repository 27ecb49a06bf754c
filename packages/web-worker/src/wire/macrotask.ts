/**
 * Calls `task` in a macrotask of its own, after all microtasks. A timer would do, but is held back
 * by 4 ms after the fifth.
 */
export function createMacrotasks(): (task: () => void) => void {
  const { port1, port2 } = new MessageChannel();
  const tasks: (() => void)[] = [];
  port1.addEventListener('message', () => tasks.shift()?.());
  port1.start();
  return (task) => {
    tasks.push(task);
    port2.postMessage(null);
  };
}

/** Resolves when all that is ready now has been done. */
export function nextMacrotask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
}
