import type { AgentStatus } from '../event/agent-status.ts';
import type { CallState } from '../event/call-state.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSet } from '../tool/tool-set.ts';
import type { RunNote } from './log/log-record.ts';

/** How a run ended, and what is known of the calls that it left open. */
export interface RunEnd {
  readonly runId: string;
  readonly reason: string;
  readonly calls: ReadonlyMap<string, CallState>;
}

/** A conversation's messages, in the order they were appended. */
export interface Memory {
  /** Rejects with `STORAGE_QUOTA` or `STORAGE_FAILED` where the store does. */
  append(messages: readonly Msg[]): Promise<void>;
  read(): Promise<readonly Msg[]>;
  /** Takes the messages with these ids out; unknown ids are ignored. */
  delete(ids: readonly string[]): Promise<void>;
  clear(): Promise<void>;
  /**
   * Writes what `append` and `note` may still hold back (`durability: 'turn'`); called at the end
   * of each call, also of a failed one, with how it ended.
   */
  flush?(end?: RunEnd): Promise<void>;
  /**
   * Takes notes about runs and tool calls, to be written with what is written next; `now`: before
   * it resolves, unless `durability` is `turn`.
   */
  note?(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
  /**
   * Puts what the log tells of open tool calls, of the run they are of, of the session's values and
   * of active tool groups in the place of what the agent knows; before each call.
   */
  restore?(status: AgentStatus, tools: ToolSet): Promise<void>;
  /** Grows with every record; absent where there is no log. */
  readonly sessionVersion?: number;
}
