import {
  AgentError,
  type AgentErrorData,
  type AgentEvent,
  type AgentResult,
  type EventBatch,
} from '@isoloop/core';

/** Result of a run, as a reader that joined the run gets it from the events. */
export class JoinedResult {
  /** Resolves with `undefined` if the reader has left. Rejects if the run failed. */
  readonly promise: Promise<AgentResult | undefined>;
  #resolve!: (result: AgentResult | undefined) => void;
  #reject!: (error: AgentError) => void;
  #failure: AgentErrorData | undefined;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Adds events that the reader has received. The run's end settles the promise. */
  add(events: EventBatch): void {
    for (const event of events) if (event.agentPath.length < 2) this.#addEvent(event);
  }

  leave(): void {
    this.#resolve(undefined);
  }

  fail(message: string): void {
    this.#reject(new AgentError('WORKER_TERMINATED', message));
  }

  #addEvent(event: AgentEvent): void {
    if (event.type === 'error') this.#failure = event.error;
    if (event.type === 'run-end') this.#end(event.result);
  }

  #end(result: AgentResult): void {
    if (this.#failure) this.#reject(AgentError.fromJSON(this.#failure));
    else if (result.reason === 'error') this.fail('The run failed, and its tab is gone.');
    else this.#resolve(result);
  }
}
