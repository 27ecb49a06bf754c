import type { JsonValue } from '../message/json/json.ts';
import type { CallState } from './call-state.ts';

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
  /** Id of the run that the next agent call continues. */
  suspendedRun?: string | undefined;
  /** Id of the last run, if an interrupt or an abort ended the run. */
  stoppedRun?: string | undefined;
}
