import { currentScope, forget, isFirstPatch, note } from './things.ts';

function noteRejection(promise: unknown, reason: unknown): void {
  const text = reason instanceof Error ? `${reason.name}: ${reason.message}` : typeof reason;
  const origin = reason instanceof Error ? reason : undefined;
  note(promise, { kind: 'rejection', phrase: `an unhandled rejection (${text})`, origin });
}

/**
 * Notes the unhandled rejections of Node or workerd. Patches `process.emit`, because Vitest reports
 * no rejection once there is another listener. Rejections between two files go to Vitest.
 */
export function watchRejections(): void {
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

/** Notes the rejections of a page that nobody handles. */
export function watchPageRejections(): void {
  if (!isFirstPatch(globalThis)) return;
  // Vitest reports no rejection if there are listeners that were added through `window`.
  const { addEventListener } = EventTarget.prototype;
  const listen = (type: string, listener: (event: PromiseRejectionEvent) => void): void =>
    addEventListener.call(globalThis, type, listener as unknown as EventListener);
  listen('unhandledrejection', (event) => {
    noteRejection(event.promise, event.reason);
    // Later listeners of a test may say that they expect it.
    queueMicrotask(() => {
      if (event.defaultPrevented) forget(event.promise);
    });
  });
  listen('rejectionhandled', ({ promise }) => forget(promise));
}
