import type { ToolResult, ToolUse } from '../message/msg.ts';
import type { Decision, PendingCall } from './pending-call.ts';
import type { JsonValue } from '../message/json.ts';

/** State of a tool call that has no result yet. Plain JSON. The agent keeps it in `AgentStatus`. */
export interface CallState {
  /**
   * The tool call after the changes of `pre-acting` hooks and decisions. Set once the hooks have
   * run.
   */
  toolUse?: ToolUse;
  approved?: boolean;
  /** Whether the tool may have started. A started tool may have had effects. */
  started?: boolean;
  /** Decision about the tool call that the agent has not carried out yet. */
  decision?: Decision;
  /** The decision or result that the tool call waits for. */
  pending?: PendingCall;
  /** What the tool call waited for before `decision`. */
  waitedFor?: PendingCall | undefined;
}

/** A tool call without a result. */
export interface OpenCall {
  /** The tool call, with the changes of hooks in an earlier run and with a person's edit. */
  readonly toolUse: ToolUse;
  /** What the log says about the tool call. */
  readonly state: Readonly<CallState>;
  /**
   * Whether the log says something about it. If not, the memory keeps no notes, and the memory's
   * `unnotedCalls` decides whether the tool counts as started.
   */
  readonly isNoted: boolean;
  /** Result that the tool call gets, for example from a person. Its tool does not run. */
  readonly result?: ToolResult;
}

/** State that an agent keeps between its calls, in addition to its memory and its tools. */
export interface AgentStatus {
  /** State of each tool call without a result, by the id of the tool call. */
  readonly calls: Map<string, CallState>;
  /** Named values of hooks, tools and middleware; plain JSON. */
  state: Record<string, JsonValue>;
  /** Number of agent calls that have started. Calls that wait for their turn do not count. */
  runs: number;
  /** Whether the last agent call was interrupted. */
  interrupted: boolean;
  /** Whether the next agent call pauses before its first model request. */
  pauseNext?: boolean;
  /**
   * Id of the last run that has no end in the log, or ended as suspended. The next agent call
   * continues it.
   */
  openRunId?: string | undefined;
  /** Id of the last run, if an interrupt or an abort ended the run. */
  stoppedRunId?: string | undefined;
}
