import { AgentError } from '@isoloop/core';

/** Options for tabs that share a session. */
export interface TabsOptions {
  /**
   * Name of the lock and the channel. Set it if two apps of one origin have sessions of the same
   * name. Default `isoloop`.
   */
  readonly scope?: string;
  /**
   * Number of times another tab continues a run after its tab is gone. Each attempt costs at least
   * one model request. 0: never. Default 3.
   */
  readonly attempts?: number;
  /**
   * Longest wait for the leader's answer, in milliseconds. Then another tab takes over. Default
   * 10,000.
   */
  readonly stalledAfterMs?: number;
}

export type Tabs = Required<TabsOptions>;

/**
 * Returns nothing if tabs do not share a session, or if the browser lacks or refuses Web Locks or
 * BroadcastChannel. Throws `CONFIGURATION`.
 */
export function toTabs(options: TabsOptions | false = {}): Tabs | undefined {
  if (options === false) return undefined;
  const {
    scope = 'isoloop',
    attempts = 3,
    stalledAfterMs = 10_000,
  } = Object(options) as TabsOptions;
  const isFit =
    Object(options) === options &&
    typeof scope === 'string' &&
    Number.isSafeInteger(attempts) &&
    attempts >= 0 &&
    stalledAfterMs > 0 &&
    stalledAfterMs <= longestTimer;
  if (!isFit)
    throw new AgentError(
      'CONFIGURATION',
      '`tabs` is false, or takes a scope, a number of attempts and milliseconds.',
    );
  return navigator.locks && hasChannels() ? { scope, attempts, stalledAfterMs } : undefined;
}

/** Whether channels work. Firefox refuses them for a site that may not store data. */
function hasChannels(): boolean {
  try {
    new BroadcastChannel('isoloop').close();
    return true;
  } catch {
    return false;
  }
}

/** Longest timer, in milliseconds; a longer one fires at once. */
const longestTimer = 2 ** 31 - 1;
