import type { AgentEvent } from '@isoloop/core';

/** The run whose events came last. */
interface LatestRun {
  readonly id: string;
  /** Whether someone else than the chat has asked for the run. */
  readonly isOther: boolean;
  /** Whether the run has an answer to read, and has not ended. */
  isAtWork: boolean;
  /** Whether the agent has accepted the input. A run that was refused stores nothing. */
  hasInput: boolean;
}

/** A run that a chat may lack. */
export interface NewsOfRun {
  readonly runId: string;
  /** Whether it is certain that the chat lacks this run or one before it. */
  readonly isCertain: boolean;
}

/**
 * News about the runs of a session, for a chat that shows them. Of many runs it keeps only the last
 * one, because the history has all others.
 */
export class RunNews {
  readonly #isOther: (runId: string) => boolean;
  #run: LatestRun = { id: '', isOther: false, isAtWork: false, hasInput: false };
  #news: NewsOfRun | undefined;
  #wake = (): void => {};

  /** `isOther`: returns, when a run begins, whether someone else than the chat has asked for it. */
  constructor(isOther: (runId: string) => boolean) {
    this.#isOther = isOther;
  }

  get isEmpty(): boolean {
    return this.#news === undefined;
  }

  /** Whether a run is at work, so that a chat can read its answer. */
  get isAtWork(): boolean {
    return this.#run.isAtWork;
  }

  /** Takes the next event of the session. */
  add({ type, runId, agentPath }: AgentEvent): void {
    if (agentPath.length > 1) return;
    if (runId !== this.#run.id)
      this.#run = { id: runId, isOther: this.#isOther(runId), isAtWork: false, hasInput: false };
    const run = this.#run;
    const isBegun = !run.isAtWork && (type === 'pre-reasoning' || type === 'pre-acting');
    run.hasInput ||= isBegun || type === 'pre-call';
    // A run may end without a request to the model, with a stored answer or an error.
    if (!isBegun && !(type === 'run-end' && run.hasInput)) return;
    run.isAtWork = isBegun;
    this.tell(run.isOther);
  }

  /** Tells the chat to look at the last run. */
  tell(isCertain: boolean): void {
    const news = this.#news;
    const { id } = this.#run;
    const isAnother = news !== undefined && news.runId !== id;
    this.#news = { runId: id, isCertain: isCertain || isAnother || news?.isCertain === true };
    this.wake();
  }

  clear(): void {
    this.#news = undefined;
  }

  /** Returns the news, and clears them. */
  take(): NewsOfRun | undefined {
    const news = this.#news;
    this.clear();
    return news;
  }

  /** Resolves when there are news, or when `wake()` is called. */
  async whenTold(): Promise<void> {
    if (this.isEmpty) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  wake(): void {
    this.#wake();
  }
}
