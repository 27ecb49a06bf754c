export interface PageChangesOptions {
  /** Resolves when the chat is at rest. */
  readonly whenIdle: () => Promise<void>;
  /** Shows a run, or looks for changes if there is no id. */
  readonly show: (runId: string | undefined) => Promise<void>;
}

/** Shows changes of other pages one after the other, when the chat is at rest. */
export class PageChanges {
  readonly #options: PageChangesOptions;
  #whenShown: Promise<void> = Promise.resolve();
  /** Whether a look for changes waits already. */
  #isLookWaiting = false;

  constructor(options: PageChangesOptions) {
    this.#options = options;
  }

  /** `isNews`: whether the chat still lacks the change when its turn has come. */
  add(runId?: string, isNews?: () => boolean): void {
    const isLook = runId === undefined && !isNews;
    if (isLook && this.#isLookWaiting) return;
    this.#isLookWaiting ||= isLook;
    this.#whenShown = this.#whenShown.then(async () => {
      await this.#options.whenIdle();
      if (isLook) this.#isLookWaiting = false;
      if (!isNews || isNews()) await this.#options.show(runId);
    });
  }
}
