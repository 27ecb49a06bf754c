import { boolean, func, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { AgentError } from '../error/agent-error.ts';
import type { ContentionOptions } from './store/back-off.ts';

/** How a `SessionMemory` writes, and whom it tells about problems of its store. */
export interface SessionMemoryOptions extends ContentionOptions {
  /**
   * When messages are written: `step` (default) before `append` resolves, `turn` at the next
   * `flush`.
   */
  readonly durability?: 'step' | 'turn';
  /**
   * Returns a name for written records: letters, digits and dashes. Each name must be new. Default:
   * random names.
   */
  readonly generateId?: () => string;
  /** Clock for the session's times, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /**
   * Number of writes from which a session's log is compacted. Default: 256. An opened session is
   * compacted once, at its next write.
   */
  readonly compactAfter?: number;
  /**
   * Receives an error for each stored record that is damaged, missing or of another version of the
   * library. The memory then reads the rest of the session and overwrites nothing. Default: reading
   * such a session rejects with `STORAGE_FAILED`.
   */
  readonly onDamage?: (error: AgentError) => void;
  /**
   * Whether to refuse a store without `compareAndSet`, which may lose records of concurrent
   * writers. The constructor then throws `CONFIGURATION`. Default: false.
   */
  readonly requireCompareAndSet?: boolean;
  /**
   * Receives `SESSION_CONFLICT` once, when this memory sees that another writer has changed the
   * session in a store without `compareAndSet`. Default: `console.warn`.
   */
  readonly onWarning?: (warning: AgentError) => void;
}

/** The kinds of `SessionMemoryOptions`, without `durability`. */
export const memoryOptions: OptionTable<Omit<SessionMemoryOptions, 'durability'>> = {
  generateId: optional(func),
  now: optional(func),
  onDamage: optional(func),
  onWarning: optional(func),
  sleep: optional(func),
  random: optional(func),
  compactAfter: optional(nonNegative),
  requireCompareAndSet: optional(boolean),
};
