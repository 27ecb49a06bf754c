/** What a test can leave behind. */
export type Kind =
  | 'run'
  | 'rejection'
  | 'timer'
  | 'server'
  | 'process'
  | 'worker'
  | 'lock'
  | 'database';

/** A test, or a test file with its `beforeAll` and `afterAll` hooks. */
export interface Scope {
  readonly what: 'test' | 'file';
  readonly allowed: Set<Kind>;
  /** What the hooks of the file end after its last test. */
  readonly handedToFile: Set<Kind>;
}

/** Something that has to end before its scope ends. */
export interface Thing {
  readonly kind: Kind;
  /** A noun phrase, such as `a timer (setTimeout, 10 ms)`. */
  readonly phrase: string | (() => string);
  /** Its stack is the place that created the thing. */
  readonly origin: Error | undefined;
  readonly scope: Scope;
}

interface Registry {
  /** By the object or the id that identifies the thing. */
  readonly things: Map<unknown, Thing>;
  /** Things that can no longer end, such as a timer of a fake clock that was taken away. */
  readonly stuck: WeakSet<Thing>;
  /** Updates things that only a query finds. */
  readonly updates: (() => Promise<void>)[];
  readonly patched: WeakSet<object>;
  file: Scope | undefined;
  test: Scope | undefined;
}

const key = Symbol.for('isoloop.tests.left-behind');

/**
 * State of the check. Test files share a global object, but each file loads its setup file again.
 */
export const registry: Registry = ((globalThis as { [key]?: Registry })[key] ??= {
  things: new Map(),
  stuck: new WeakSet(),
  updates: [],
  patched: new WeakSet(),
  file: undefined,
  test: undefined,
});

/** The running test, or else the file whose hooks run. */
export function currentScope(): Scope | undefined {
  return registry.test ?? registry.file;
}

/** Notes something that the current scope has to end. Returns the note. */
export function note(id: unknown, thing: Omit<Thing, 'scope'>): Thing | undefined {
  const scope = currentScope();
  if (!scope) return undefined;
  const noted = { ...thing, scope };
  registry.things.set(id, noted);
  return noted;
}

/** Notes that a thing has ended. */
export function forget(id: unknown): void {
  registry.things.delete(id);
}

/** Returns whether this is the first call for the object, because a patch is applied once. */
export function isFirstPatch(target: object): boolean {
  if (registry.patched.has(target)) return false;
  registry.patched.add(target);
  return true;
}

/** Returns what the running test has created and not ended. */
export function thingsOfTest(kind: Kind): readonly Thing[] {
  const { test, things } = registry;
  return [...things.values()].filter((thing) => thing.scope === test && thing.kind === kind);
}

export function phraseOf({ phrase }: Thing): string {
  return typeof phrase === 'string' ? phrase : phrase();
}
