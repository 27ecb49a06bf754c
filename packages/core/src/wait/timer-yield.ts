/**
 * Time in milliseconds after which a run lets timers run, and the number of ticks that take about
 * this time. A tick is about as much work as one delta of a reply.
 */
const maxMs = 20;
const maxTicks = 4000;

/**
 * Lets timers run at intervals. A model and tools that never wait for real I/O would otherwise
 * block all timers. No abort and no timeout would work then.
 */
export class TimerYield {
  #ticks = 0;
  #yieldedAt: number;
  #task: Promise<void> | undefined;

  constructor(now: number) {
    this.#yieldedAt = now;
  }

  /**
   * Counts work. Returns a promise to wait for if timers have not run for a while. Counts ticks and
   * time, because the clock of some runtimes stops between I/O.
   */
  tick(now: number, ticks = 1): Promise<void> | undefined {
    this.#ticks += ticks;
    if (this.#ticks < maxTicks && now - this.#yieldedAt < maxMs) return undefined;
    this.#ticks = 0;
    this.#yieldedAt = now;
    if (this.#task) return this.#task;
    // Does not wait yet: often the task runs before the next time, and then nothing waits.
    this.#task = nextTask().then(() => {
      this.#task = undefined;
    });
    return undefined;
  }
}

/** The task of the event loop that runs wait for. Many runs at once share it. */
let sharedTask: Promise<void> | undefined;

/** What Cloudflare Workers have, and browsers and Node lack. */
interface WaitingScope {
  readonly scheduler?: { readonly wait?: (ms: number) => Promise<void> };
}

/**
 * Resolves in a new task of the event loop. Avoids `setTimeout`: browsers delay nested timers, and
 * a run would hang in a test with fake timers.
 */
export function nextTask(): Promise<void> {
  const { scheduler, navigator } = globalThis as WaitingScope & Partial<typeof globalThis>;
  const isWorkerd = navigator?.userAgent === 'Cloudflare-Workers';
  // In Cloudflare Workers, messages would block timers, and requests must not share a promise.
  if (isWorkerd && scheduler?.wait) return scheduler.wait(0);
  if (isWorkerd || !globalThis.MessageChannel) return new Promise((resolve) => setTimeout(resolve));
  sharedTask ??= taskByMessage();
  return sharedTask;
}

function taskByMessage(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener('message', () => {
      port1.close();
      sharedTask = undefined;
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
}
