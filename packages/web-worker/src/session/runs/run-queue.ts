import { AgentError } from '@isoloop/core';
import { onAbort } from '@isoloop/core/wait';

/** A run that waits for the end of another tab's runs. */
interface WaitingRun {
  readonly tabId: string;
  readonly enter: () => void;
}

/**
 * Queue that lets only one tab run at a time. Further runs of that tab do not wait here, because
 * the agent's `whenBusy` handles them.
 */
export class RunQueue {
  #activeTab: string | undefined;
  #count = 0;
  readonly #waiting: Set<WaitingRun> = new Set();

  /** Id of the tab whose runs are active. */
  get activeTab(): string | undefined {
    return this.#activeTab;
  }

  /**
   * Waits until no other tab has an active run. Rejects with `ABORTED` if the signal aborts first.
   */
  async enter(tabId: string, signal: AbortSignal): Promise<void> {
    this.#activeTab ??= tabId;
    if (this.#activeTab !== tabId) await this.#wait(tabId, signal);
    else this.#count += 1;
  }

  /** Ends a run of the active tab. After the last one, the next tab may run. */
  leave(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    // The next tab gets the place at once, so that no new run of another tab can take it.
    const [next] = this.#waiting;
    this.#activeTab = next?.tabId;
    for (const run of this.#waiting) if (run.tabId === next?.tabId) run.enter();
  }

  #wait(tabId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const run: WaitingRun = {
        tabId,
        enter: () => {
          removeListener();
          this.#waiting.delete(run);
          this.#count += 1;
          resolve();
        },
      };
      this.#waiting.add(run);
      const removeListener = onAbort(signal, () => {
        this.#waiting.delete(run);
        reject(new AgentError('ABORTED', "The call was aborted while another tab's call ran."));
      });
    });
  }
}
