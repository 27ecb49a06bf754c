import type { AgentEvent, JsonValue } from '@isoloop/core';

/** Event of the agent without prompts and messages, for a timeline. */
export interface AgentTimelineEvent {
  readonly type: AgentEvent['type'];
  readonly runId: string;
  readonly seq: number;
  readonly iteration: number;
  /** Time in milliseconds since 1970. */
  readonly at: number;
  readonly agentPath: readonly string[];
  /** Whether the run continues an answer that was cut off. Only `run-start` has this field. */
  readonly continues?: boolean;
  /** Further fields depend on the type, such as `name` and `state` of `post-acting`. */
  readonly [field: string]: JsonValue | undefined;
}

/** Largest number of events that a chat keeps. Older ones are dropped. */
const maxEvents = 400;

/** Adds an event unless it is there already: a resumed stream repeats its turn from the start. */
export function withEvent(
  events: readonly AgentTimelineEvent[],
  event: AgentTimelineEvent,
): readonly AgentTimelineEvent[] {
  const isKnown = events.some(({ runId, seq }) => runId === event.runId && seq === event.seq);
  return isKnown ? events : [...events, event].slice(-maxEvents);
}
