import type { JsonValue } from '../message/json.ts';
import type { CallState } from './call-state.ts';

/** State that an agent keeps between calls, apart from its memory and its tools. */
export interface AgentStatus {
  /** The open tool calls, by id. */
  readonly calls: Map<string, CallState>;
  /** Named values of hooks, tools and middleware; plain JSON. */
  state: Record<string, JsonValue>;
  /** Number of calls that have started; waiting calls do not count. */
  runs: number;
  /** Whether the last call was interrupted. */
  interrupted: boolean;
  /** Whether the next request to the model is held back, because somebody asked for a pause. */
  pauseNext?: boolean;
  /** Id of the run that the next call continues. */
  suspendedRun?: string | undefined;
  /** Id of the last run, if an interrupt or abort ended it. */
  stoppedRun?: string | undefined;
}
