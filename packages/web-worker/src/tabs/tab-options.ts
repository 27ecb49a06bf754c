import { AgentError } from '@isoloop/core';

/** How the tabs of one session work together. */
export interface TabsOptions {
  /**
   * Names the lock and the channel; set it where two apps of one origin have sessions of the same
   * name. Default `isoloop`.
   */
  readonly scope?: string;
  /**
   * How often a run whose tab is gone is gone on with by itself; each costs a model request at
   * least. 0: never. Default 3.
   */
  readonly attempts?: number;
  /**
   * Milliseconds without a sign of life after which the lead is taken from a tab, while something
   * is asked of it. Default 10,000.
   */
  readonly stalledAfterMs?: number;
}

export type Tabs = Required<TabsOptions>;

/**
 * Nothing where each tab is to be alone, or the browser has no Web Locks or no BroadcastChannel, or
 * refuses the latter. Throws `CONFIGURATION`.
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

/** False also where they are refused, as in Firefox for a site that may store nothing. */
function hasChannels(): boolean {
  try {
    new BroadcastChannel('isoloop').close();
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds; a longer one fires at once. */
const longestTimer = 2 ** 31 - 1;
