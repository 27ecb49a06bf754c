/**
 * Returns a function that calls each `task` in a macrotask of its own, after all pending
 * microtasks. Uses messages, because browsers delay nested timers by 4 ms.
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

/** Resolves in a new macrotask, after all messages and tasks that are already pending. */
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
