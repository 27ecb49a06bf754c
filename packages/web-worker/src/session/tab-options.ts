import { timerMs } from '@isoloop/core/wait';
import { AgentError } from '@isoloop/core';
import {
  checkOptions,
  string,
  optional,
  whole,
  positive,
  type OptionTable,
} from '@isoloop/core/options';

/** Options for tabs that share a session. */
export interface TabsOptions {
  /**
   * Beginning of the names of locks and channels. Set it if two apps on the same origin use the
   * same session ids. Default: `isoloop`.
   */
  readonly scope?: string;
  /**
   * Maximum number of times that another tab continues a run after the leader's tab has ended. Each
   * attempt costs at least one model request. With 0, no tab continues a run. Default: 3.
   */
  readonly attempts?: number;
  /**
   * Maximum time without an answer from the leader, in milliseconds. After this time another tab
   * takes over. Default: 10,000.
   */
  readonly stalledAfterMs?: number;
}

export type TabSettings = Required<TabsOptions>;

/**
 * Returns the options with their defaults. Returns `undefined` if tabs do not share sessions, or if
 * Web Locks or BroadcastChannel are not available. Throws `CONFIGURATION` for an invalid option.
 */
export function tabSettings(options: TabsOptions | false = {}): TabSettings | undefined {
  if (options === false) return undefined;
  checkOptions('exposeAgent(): tabs', options, tabsOptions);
  const { scope = 'isoloop', attempts = 3, stalledAfterMs = 10_000 } = options;
  if (stalledAfterMs > timerMs(stalledAfterMs))
    throw new AgentError(
      'CONFIGURATION',
      `exposeAgent(): tabs: stalledAfterMs must be at most ${timerMs(Infinity)}.`,
    );
  return navigator.locks && hasChannels() ? { scope, attempts, stalledAfterMs } : undefined;
}

const tabsOptions: OptionTable<TabsOptions> = {
  scope: optional(string),
  attempts: optional(whole),
  stalledAfterMs: optional(positive),
};

/**
 * Returns whether a BroadcastChannel can be created. Firefox refuses channels for a site that may
 * not store data.
 */
function hasChannels(): boolean {
  try {
    new BroadcastChannel('isoloop').close();
    return true;
  } catch {
    return false;
  }
}
