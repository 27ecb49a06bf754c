import { onTestFinished } from 'vitest';

interface Made {
  readonly what: string;
  readonly target: unknown;
}

/**
 * Records the listeners, timers, ports, channels and workers that the sources of the page make
 * from now on. Returns a function that names those that were not removed.
 */
export function watchLeftBehind(): () => readonly string[] {
  const made = new Map<unknown, Made>();
  const restore: (() => void)[] = [];
  onTestFinished(() => restore.forEach((undo) => undo()));

  const replace = <T extends object, K extends keyof T>(
    owner: T,
    name: K,
    make: (original: T[K]) => T[K],
  ): void => {
    const original = owner[name];
    owner[name] = make(original);
    restore.push(() => {
      owner[name] = original;
    });
  };
  const isOwn = (): boolean =>
    /(?:web-worker|react)\/src\/[^.]*\.ts|comlink/.test(new Error('made').stack ?? '');
  const dropAllOf = (target: unknown): void => {
    for (const [key, each] of made) if (each.target === target) made.delete(key);
  };

  replace(
    EventTarget.prototype,
    'addEventListener',
    (original) =>
      function add(this: EventTarget | undefined, type, listener, options) {
        const target = this ?? globalThis;
        original.call(target, type, listener, options);
        const signal = typeof options === 'object' ? options?.signal : undefined;
        // A signal, and a reader of a file, end with what they are for.
        if (target instanceof AbortSignal || target instanceof FileReader) return;
        // React listens on the elements that it renders into.
        if (target instanceof Element) return;
        if (signal?.aborted || !listener || !isOwn()) return;
        const key = `${type} ${idOf(target)} ${idOf(listener)}`;
        made.set(key, { what: `${type} on ${target.constructor.name}`, target });
        if (signal) original.call(signal, 'abort', () => void made.delete(key));
      },
  );
  replace(
    EventTarget.prototype,
    'removeEventListener',
    (original) =>
      function remove(this: EventTarget | undefined, type, listener, options) {
        const target = this ?? globalThis;
        original.call(target, type, listener, options);
        if (listener) made.delete(`${type} ${idOf(target)} ${idOf(listener)}`);
      },
  );
  for (const owner of [MessagePort.prototype, BroadcastChannel.prototype] as const)
    replace(
      owner as MessagePort,
      'close',
      (original) =>
        function close(this: MessagePort) {
          original.call(this);
          dropAllOf(this);
        },
    );
  for (const name of ['Timeout', 'Interval'] as const) {
    replace(globalThis, `set${name}`, ((original: typeof setTimeout) =>
      (run: () => void, ms?: number) => {
        const id = original(() => {
          if (name === 'Timeout') made.delete(id);
          run();
        }, ms);
        if (isOwn()) made.set(id, { what: `${name} of ${ms} ms`, target: id });
        return id;
      }) as never);
    replace(globalThis, `clear${name}`, ((original: typeof clearTimeout) => (id?: number) => {
      original(id);
      made.delete(id);
    }) as never);
  }
  for (const name of ['Worker', 'SharedWorker', 'BroadcastChannel'] as const)
    replace(
      globalThis,
      name,
      ((original: typeof BroadcastChannel) =>
        class extends original {
          constructor(...given: ConstructorParameters<typeof BroadcastChannel>) {
            super(...given);
            if (isOwn()) made.set(this, { what: name, target: this });
          }
        }) as never,
    );

  return () => [...made.values()].map(({ what }) => what);
}

const ids = new WeakMap<object, number>();
let lastId = 0;

function idOf(value: object): number {
  const known = ids.get(value);
  if (known !== undefined) return known;
  lastId += 1;
  ids.set(value, lastId);
  return lastId;
}
