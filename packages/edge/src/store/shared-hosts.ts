import type { KeyValueStore } from '@isoloop/core';
import type { HandlerSettings } from '../settings/handler-options.ts';
import { ProcessHosts } from './process-hosts.ts';

/** The global variable is the only one that all evaluations of this module share. */
const registryKey = Symbol.for('isoloop.edge.named-sessions');

interface GlobalScope {
  [registryKey]?: Map<string, ProcessHosts>;
}

/**
 * Returns the sessions that the handlers of this process share under a name. A bundler may evaluate
 * a module again, for example after an edit or for another route, and each evaluation has a
 * handler. The first one's store stays. The newest one's settings apply to turns that begin from
 * now on.
 */
export function sharedHosts(
  name: string,
  settings: HandlerSettings,
  store: KeyValueStore,
): ProcessHosts {
  const scope = globalThis as GlobalScope;
  scope[registryKey] ??= new Map();
  const sessions = scope[registryKey].get(name) ?? new ProcessHosts(settings, store);
  sessions.settings = settings;
  scope[registryKey].set(name, sessions);
  return sessions;
}
