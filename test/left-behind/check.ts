import { aroundAll, aroundEach, inject } from 'vitest';
import { isForeign, ownFramesOf, placeOf } from './origin.ts';
import { phraseOf, registry, type Scope, type Thing } from './things.ts';

/** What the check needs of an engine. */
export interface Engine {
  /** Resolves after the next turn of the event loop, also under a fake clock. */
  nextTurn(this: void): Promise<void>;
  /** Resolves after some real time. */
  pause(this: void): Promise<void>;
  now(this: void): number;
}

/** Number of turns of the event loop after which the check pauses between two looks. */
const quickTurns = 50;

/**
 * Fails each test that leaves something behind, after its hooks. After the last test, fails the
 * file for what its own hooks left.
 */
export function checkLeftBehind(engine: Engine): void {
  const file = newScope('file');
  const limitMs = inject('leftBehindLimitMs');
  registry.file = file;
  aroundEach(async (runTest) => {
    const test = newScope('test');
    registry.test = test;
    await runTest();
    await checkScope(test, engine, limitMs).finally(() => (registry.test = undefined));
  });
  aroundAll(async (runFile) => {
    await runFile();
    await checkScope(file, engine, limitMs).finally(() => (registry.file = undefined));
  });
}

const newScope = (what: Scope['what']): Scope => ({
  what,
  allowed: new Set(),
  handedToFile: new Set(),
});

/** Runs an action like a test, and returns the sentences about what it leaves at once. */
export async function sentencesLeftBy(
  engine: Engine,
  action: () => unknown,
): Promise<readonly string[]> {
  const { test } = registry;
  const scope = newScope('test');
  registry.test = scope;
  try {
    await action();
    const errors = await endScope(scope, engine, 0);
    return errors.map(({ message }) => message);
  } finally {
    registry.test = test;
  }
}

async function checkScope(scope: Scope, engine: Engine, limitMs: number): Promise<void> {
  const errors = await endScope(scope, engine, limitMs);
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors);
}

async function endScope(scope: Scope, engine: Engine, limitMs: number): Promise<readonly Error[]> {
  const left = await waitForEnds(scope, engine, limitMs);
  for (const [id, thing] of registry.things) {
    if (thing.scope !== scope) continue;
    const { file } = registry;
    if (file && scope.handedToFile.has(thing.kind))
      registry.things.set(id, { ...thing, scope: file });
    else registry.things.delete(id);
  }
  return left.map(errorOf);
}

/**
 * Waits for things that can still end, such as a canceled run. Resolves with those that stay. The
 * time limit only detects a hang.
 */
async function waitForEnds(
  scope: Scope,
  engine: Engine,
  limitMs: number,
): Promise<readonly Thing[]> {
  const start = engine.now();
  for (let turn = 0; ; turn += 1) {
    // A rejection is reported in the next turn.
    await engine.nextTurn();
    for (const update of registry.updates) await update();
    const left = [...registry.things.values()].filter((thing) => isLeft(thing, scope));
    if (left.every(isFinal)) return left;
    if (engine.now() - start > limitMs) return left;
    if (turn > quickTurns) await engine.pause();
  }
}

function isLeft(thing: Thing, scope: Scope): boolean {
  const { allowed, handedToFile } = scope;
  const mayStay = allowed.has(thing.kind) || handedToFile.has(thing.kind);
  return thing.scope === scope && !mayStay && !isForeign(thing);
}

const isFinal = (thing: Thing): boolean => thing.kind === 'rejection' || registry.stuck.has(thing);

function errorOf(thing: Thing): Error {
  const { scope, origin } = thing;
  const what = phraseOf(thing);
  const place = placeOf(thing);
  const error = new Error(`The ${scope.what} left ${what}${place ? ` created at ${place}` : ''}.`);
  // Vitest shows the code of the first frame.
  error.stack = [`${error.name}: ${error.message}`, ...ownFramesOf(origin)].join('\n');
  return error;
}
