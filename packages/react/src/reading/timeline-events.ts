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

/** Events of a chat's runs. A resumed stream repeats its turn from the start. */
export class TimelineEvents {
  /** The latest events. Is replaced at each event. */
  list: readonly AgentTimelineEvent[] = [];
  /** Ids of the runs whose events the chat has read. */
  readonly #runIds: Set<string> = new Set();
  /** Run whose events the present stream has. */
  #shownRunId: string | undefined;

  /** Whether the chat has read events of the run. */
  hasRun(runId: string): boolean {
    return this.#runIds.has(runId);
  }

  beginStream(): void {
    this.#shownRunId = undefined;
  }

  clear(): void {
    this.list = [];
  }

  /**
   * Adds an event. Returns whether its run continues an answer or is another one. Returns
   * `undefined` for the runs of child agents.
   */
  take(event: AgentTimelineEvent): 'continues' | 'begins' | undefined {
    const { runId, seq, agentPath, continues = false } = event;
    if (!this.list.some((each) => each.runId === runId && each.seq === seq))
      this.list = [...this.list, event].slice(-maxEvents);
    if (agentPath.length > 1) return undefined;
    this.#runIds.add(runId);
    // With another id, another tab continues the run, because the tab of the run is gone.
    const isTakenOver = this.#shownRunId !== undefined && this.#shownRunId !== runId;
    this.#shownRunId = runId;
    return continues || isTakenOver ? 'continues' : 'begins';
  }
}
