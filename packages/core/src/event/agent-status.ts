import type { JsonValue } from '../message/json.ts';
import type { CallState } from './call-state.ts';

/** What an agent keeps from call to call beside its memory and its tools. */
export interface AgentStatus {
  /** The open tool calls, by id. */
  readonly calls: Map<string, CallState>;
  /** What is kept under names for hooks, tools and middleware; plain JSON. */
  readonly state: Record<string, JsonValue>;
  /** How many calls have had their turn. */
  runs: number;
  /** Whether the last call was interrupted. */
  interrupted: boolean;
  /** The run that the next call goes on with. */
  suspendedRun?: string | undefined;
}
