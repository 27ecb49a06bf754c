import type { AgentEvent } from '@isoloop/core';

/** The run of a session whose events came last. */
export class LatestRun {
  #id = '';
  #isAnswering = false;
  /** Whether the agent has accepted the input. A run that was refused stores nothing. */
  #isAccepted = false;

  get id(): string {
    return this.#id;
  }

  /** Whether the run has an answer to read, and has not ended. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  /**
   * Takes the next event of the session. Returns whether the log has more of the run to show: its
   * question, or its end.
   */
  add({ type, runId, agentPath }: AgentEvent): boolean {
    if (agentPath.length > 1) return false;
    if (runId !== this.#id) {
      this.#id = runId;
      this.#isAnswering = false;
      this.#isAccepted = false;
    }
    const beginsAnswer = !this.#isAnswering && (type === 'pre-reasoning' || type === 'pre-acting');
    this.#isAccepted ||= beginsAnswer || type === 'pre-call';
    // A run may end without a request to the model, with a stored answer or an error.
    if (!beginsAnswer && !(type === 'run-end' && this.#isAccepted)) return false;
    this.#isAnswering = beginsAnswer;
    return true;
  }
}
