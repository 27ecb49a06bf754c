import { currentScope, forget, isFirstPatch, note } from './things.ts';

function noteRejection(promise: unknown, reason: unknown): void {
  const text = reason instanceof Error ? `${reason.name}: ${reason.message}` : typeof reason;
  const origin = reason instanceof Error ? reason : undefined;
  note(promise, { kind: 'rejection', phrase: `an unhandled rejection (${text})`, origin });
}

/**
 * Notes the rejections of Node that nobody handles. It is no listener, because Vitest reports no
 * rejection if there is another listener. Vitest reports those between two files.
 */
export function watchNodeRejections(): void {
  if (!isFirstPatch(process)) return;
  const { emit } = process as { emit(this: NodeJS.Process, ...event: unknown[]): boolean };
  (process as { emit: unknown }).emit = function emitNoted(
    this: NodeJS.Process,
    ...event: unknown[]
  ): boolean {
    if (event[0] === 'rejectionHandled') forget(event[1]);
    // A test with a listener of its own expects a rejection.
    const isExpected = process.listenerCount('unhandledRejection') > 1;
    if (event[0] !== 'unhandledRejection' || isExpected || !currentScope()) {
      return emit.apply(this, event);
    }
    noteRejection(event[2], event[1]);
    return true;
  };
}

type AddListener = (
  type: 'unhandledrejection' | 'rejectionhandled',
  listener: (event: PromiseRejectionEvent) => void,
) => void;

/** Notes the rejections of a page. */
export function watchPageRejections(): void {
  // Vitest counts listeners that are added through `window`, and reports no rejection if there are
  // any.
  const { addEventListener } = EventTarget.prototype;
  watchRejections((type, listener) =>
    addEventListener.call(globalThis, type, listener as unknown as EventListener),
  );
}

/** Notes the rejections of workerd. */
export function watchWorkerdRejections(): void {
  watchRejections((type, listener) => globalThis.addEventListener(type, listener));
}

function watchRejections(listen: AddListener): void {
  if (!isFirstPatch(globalThis)) return;
  listen('unhandledrejection', (event) => {
    noteRejection(event.promise, event.reason);
    // Later listeners of a test may say that they expect it.
    queueMicrotask(() => {
      if (event.defaultPrevented) forget(event.promise);
    });
  });
  listen('rejectionhandled', ({ promise }) => forget(promise));
}
