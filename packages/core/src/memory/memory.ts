import type { AgentStatus } from '../event/agent-status.ts';
import type { CallState } from '../event/call-state.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSet } from '../tool/tool-set.ts';
import type { RunNote } from './log/format/log-record.ts';

/** How a run ended, and the state of the tool calls it left open. */
export interface RunEnd {
  readonly runId: string;
  readonly reason: string;
  readonly calls: ReadonlyMap<string, CallState>;
}

/** A conversation's messages. */
export interface Memory {
  /** Rejects with `STORAGE_QUOTA` or `STORAGE_FAILED` if the store does. */
  append(messages: readonly Msg[]): Promise<void>;
  /**
   * Returns the messages in the order in which they were appended. Tool results may come right
   * behind their calls instead.
   */
  read(): Promise<readonly Msg[]>;
  /** Removes the messages with these ids; ignores unknown ids. */
  delete(ids: readonly string[]): Promise<void>;
  clear(): Promise<void>;
  /**
   * Replaces the message that has the same id, in its place. Without it, the agent removes that
   * message and all later ones, and appends them again.
   */
  replace?(message: Msg): Promise<void>;
  /**
   * Removes messages and appends others in one write. Without it, the agent calls `delete` and
   * `append`.
   */
  rewrite?(gone: readonly string[], messages: readonly Msg[]): Promise<void>;
  /**
   * Writes what `append` and `note` may still hold back (`durability: 'turn'`). The agent calls it
   * at the end of each call, even a failed one, with how the call ended.
   */
  flush?(end?: RunEnd): Promise<void>;
  /**
   * Takes notes about runs and tool calls, and writes them with the next write. With `now`, writes
   * them before it resolves, unless `durability` is `turn`.
   */
  note?(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
  /**
   * Updates the agent's state from the log: open tool calls, their run, the session's values and
   * the active tool groups. The agent calls it before each call, and earlier writes come first. Once
   * `signal` is raised, the call no longer waits; the next one must not wait for that read.
   */
  restore?(status: AgentStatus, tools: ToolSet, signal?: AbortSignal): Promise<void>;
  /**
   * The session's values, which all agents over this memory share. If a memory has no `state`, each
   * agent has its own values until `restore` sets them.
   */
  readonly state?: Record<string, JsonValue>;
  /** Number that grows with every flush; absent without a log. */
  readonly sessionVersion?: number;
}
