import { useSyncExternalStore } from 'react';
import * as z from 'zod/mini';
import { conversations, placeOf } from './places.ts';
import type { Home } from './settings.ts';

const fork = z.object({
  /** Index of the message that differs. */
  at: z.number(),
  /** Sessions that have the same message there, for each version of it. The last is the newest. */
  versions: z.array(z.array(z.string())),
});

/** A message that was edited, or an answer that was asked for again. */
type Fork = z.infer<typeof fork>;

/** A message with several versions, as one session shows it. */
export interface Versions {
  readonly at: number;
  /** Number of the version that the session has, from 0. */
  readonly current: number;
  /** A session for each version. */
  readonly sessions: readonly string[];
}

const key = 'isoloop-demo-branches';
/** Stands between the id of a conversation and the name of its version. Random ids have no dot. */
const mark = '.';

/** Whether a session is an earlier version of another one. */
export function isBranch(sessionId: string): boolean {
  return sessionId.includes(mark);
}

/** Returns whether a session is an earlier version of this conversation. */
export function isVersionOf(sessionId: string, conversation: string): boolean {
  return sessionId.startsWith(`${conversation}${mark}`);
}

/**
 * Copies a conversation before its message at the index `at` is replaced, so that people can go
 * back to it. The conversation itself keeps its id.
 */
export async function keepVersion(home: Home, sessionId: string, at: number): Promise<void> {
  const place = await placeOf(home);
  const copy = await place.read(sessionId);
  if (!copy) return;
  const [root] = sessionId.split(mark);
  const branch = `${root}${mark}${crypto.randomUUID().slice(0, 8)}`;
  const { format, version, records } = copy;
  await place.put({ format, version, records, sessionId: branch });
  write(withBranch(read(), { sessionId, branch, at }));
}

/** Brings the session of a version to where the conversation is. Returns `false` if it is gone. */
export async function fetchVersion(home: Home, sessionId: string): Promise<boolean> {
  try {
    await conversations.moveTo(sessionId, home, { whenRunning: 'wait' });
    return true;
  } catch {
    write(without(read(), sessionId));
    return false;
  }
}

/** Returns the messages of a conversation that have several versions. */
export function useVersions(sessionId: string): readonly Versions[] {
  const text = useSyncExternalStore(subscribe, readText);
  return parse(text).flatMap(({ at, versions }) => {
    const current = versions.findIndex((sessions) => sessions.includes(sessionId));
    if (current < 0) return [];
    return [{ at, current, sessions: versions.map((sessions) => sessions.at(-1)!) }];
  });
}

interface Branch {
  /** The conversation, which continues with another message. */
  readonly sessionId: string;
  /** Its copy, which keeps the message. */
  readonly branch: string;
  readonly at: number;
}

function withBranch(forks: readonly Fork[], { sessionId, branch, at }: Branch): readonly Fork[] {
  const moved = forks.map(({ at: index, versions }): Fork => {
    if (!versions.flat().includes(sessionId)) return { at: index, versions };
    // Both sessions have the earlier messages, and only the copy has the later ones.
    const replacing = index < at ? [branch, sessionId] : [branch];
    const next = versions.map((ids) => ids.flatMap((id) => (id === sessionId ? replacing : id)));
    return { at: index, versions: index === at ? [...next, [sessionId]] : next };
  });
  const isNew = !moved.some((one) => one.at === at && one.versions.flat().includes(sessionId));
  return isNew ? [...moved, { at, versions: [[branch], [sessionId]] }] : moved;
}

function without(forks: readonly Fork[], sessionId: string): readonly Fork[] {
  return forks.flatMap(({ at, versions }) => {
    const left = versions.map((ids) => ids.filter((id) => id !== sessionId));
    const filled = left.filter((ids) => ids.length > 0);
    return filled.length > 1 ? [{ at, versions: filled }] : [];
  });
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

function readText(): string {
  return localStorage.getItem(key) ?? '[]';
}

function read(): readonly Fork[] {
  return parse(readText());
}

function parse(text: string): readonly Fork[] {
  return z.array(fork).safeParse(JSON.parse(text)).data ?? [];
}

function write(forks: readonly Fork[]): void {
  localStorage.setItem(key, JSON.stringify(forks));
  for (const listener of listeners) listener();
}
