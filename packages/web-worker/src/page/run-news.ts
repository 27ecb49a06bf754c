import type { AgentEvent } from '@isoloop/core';
import { LatestRun } from './latest-run.ts';

/** A run that a chat may lack. */
export interface NewsOfRun {
  readonly runId: string;
  /** Whether it is certain that the chat lacks this run or one before it. */
  readonly certain: boolean;
}

/**
 * News about the runs of a session, for a chat that shows them. Of many runs it keeps only the last
 * one, because the history has all others.
 */
export class RunNews {
  readonly #isFromElsewhere: (runId: string) => boolean;
  readonly #run = new LatestRun();
  /** Whether someone else than the chat has surely started the latest run. */
  #startedElsewhere = false;
  #news: NewsOfRun | undefined;
  #wake = (): void => {};

  /**
   * `isFromElsewhere`: returns, when a run begins, whether someone else than the chat has surely
   * started it.
   */
  constructor(isFromElsewhere: (runId: string) => boolean) {
    this.#isFromElsewhere = isFromElsewhere;
  }

  get isEmpty(): boolean {
    return this.#news === undefined;
  }

  /** Whether the latest run has an answer that a chat can read. */
  get isAnswering(): boolean {
    return this.#run.isAnswering;
  }

  /** Takes the next event of the session. */
  add(event: AgentEvent): void {
    const lastRunId = this.#run.id;
    const hasMore = this.#run.add(event);
    const { id } = this.#run;
    if (id !== lastRunId) this.#startedElsewhere = this.#isFromElsewhere(id);
    if (hasMore) this.markStale({ certain: this.#startedElsewhere });
  }

  /**
   * Reports that the chat may lack a run. Default: the latest run. Also puts back news that were
   * taken and not used.
   */
  markStale({ runId = this.#run.id, certain }: Partial<NewsOfRun>): void {
    const news = this.#news;
    // The chat has read at most one of two runs.
    const isAnother = news !== undefined && news.runId !== runId;
    this.#news = { runId, certain: certain === true || isAnother || news?.certain === true };
    this.#wake();
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

  /** Resolves when there are news. */
  async whenSome(): Promise<void> {
    if (this.isEmpty) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
