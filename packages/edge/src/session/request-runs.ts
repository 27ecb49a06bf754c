import { SessionMemory, type Memory } from '@isoloop/core';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';

/** Run of a conversation in KV, within one request. */
interface RequestRun {
  /** Memory of the session. The agent may use a wrapper of this memory. */
  readonly memory: Memory;
  readonly abort: AbortController;
  /** Settles when the run ends. */
  readonly runEnd: Promise<unknown>;
}

/** Runs of this isolate, by endpoint and session. */
const runsOf: WeakMap<HandlerSettings, Map<string, Set<RequestRun>>> = new WeakMap();

/** Remembers a run until its end, so that a deletion in this isolate ends it. */
export function addRequestRun(
  settings: HandlerSettings,
  setup: SessionSetup,
  run: RequestRun,
): void {
  const sessions = runsOf.get(settings) ?? new Map<string, Set<RequestRun>>();
  runsOf.set(settings, sessions);
  const key = keyOf(setup);
  const runs = sessions.get(key) ?? new Set<RequestRun>();
  sessions.set(key, runs.add(run));
  const forget = (): void => {
    runs.delete(run);
    if (runs.size === 0 && sessions.get(key) === runs) sessions.delete(key);
  };
  run.runEnd.then(forget, forget);
}

/** Ends the runs of a session in this isolate. They write nothing more. */
export async function endRequestRuns(
  settings: HandlerSettings,
  setup: SessionSetup,
): Promise<void> {
  const runs = [...(runsOf.get(settings)?.get(keyOf(setup)) ?? [])];
  for (const { memory, abort } of runs) {
    if (memory instanceof SessionMemory) await memory.refuseWrites();
    abort.abort();
  }
  await Promise.allSettled(runs.map(({ runEnd }) => runEnd));
}

function keyOf({ user, sessionId }: SessionSetup): string {
  return JSON.stringify([user, sessionId]);
}
