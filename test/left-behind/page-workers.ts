import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note } from './things.ts';

/** Notes all workers of a page until they are terminated, or until their port is closed. */
export function watchWorkers(): void {
  if (!isFirstPatch(Worker.prototype)) return;
  globalThis.Worker = noting(Worker, (worker) => worker, 'a worker');
  globalThis.SharedWorker = noting(SharedWorker, ({ port }) => port, 'a port of a shared worker');
  const { terminate } = Worker.prototype;
  Worker.prototype.terminate = function terminateNoted() {
    terminate.call(this);
    forget(this);
  };
  const { close } = MessagePort.prototype;
  MessagePort.prototype.close = function closeNoted() {
    close.call(this);
    forget(this);
  };
}

function noting<T extends new (url: string | URL) => object>(
  original: T,
  idOf: (made: InstanceType<T>) => object,
  what: string,
): T {
  return new Proxy(original, {
    construct(target, values: [string | URL], newTarget) {
      const made = Reflect.construct(target, values, newTarget) as InstanceType<T>;
      const phrase = `${what} (${new URL(values[0], location.href).pathname})`;
      note(idOf(made), { kind: 'worker', phrase, origin: captureOrigin() });
      return made;
    },
  });
}
