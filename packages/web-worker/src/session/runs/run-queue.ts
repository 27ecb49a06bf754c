import { AgentError } from '@isoloop/core';
import { onAbort } from '@isoloop/core/wait';

/**
 * Queue that lets only one tab run at a time. Further runs of that tab do not wait here, because
 * the agent's `whenBusy` handles them.
 */
export class RunQueue {
  #activeTab: string | undefined;
  #count = 0;
  #whenFree: Promise<void> = Promise.resolve();
  #release: () => void = () => {};

  /** Id of the tab whose runs are active. */
  get activeTab(): string | undefined {
    return this.#activeTab;
  }

  /**
   * Waits until no other tab has an active run. Rejects with `ABORTED` if the signal aborts first.
   */
  async enter(tabId: string, signal: AbortSignal): Promise<void> {
    while (this.#activeTab !== undefined && this.#activeTab !== tabId)
      await Promise.race([this.#whenFree, rejectOnAbort(signal)]);
    if (this.#activeTab === undefined)
      this.#whenFree = new Promise((resolve) => (this.#release = resolve));
    this.#activeTab = tabId;
    this.#count += 1;
  }

  /** Ends a run of the active tab. After the last one, the next tab may run. */
  leave(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#activeTab = undefined;
    this.#release();
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    onAbort(signal, () =>
      reject(new AgentError('ABORTED', "The call was aborted while another tab's call ran.")),
    );
  });
}
