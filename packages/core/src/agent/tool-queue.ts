import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';

export type ToolQueueItem =
  | { readonly type: 'progress'; readonly toolUse: ToolUse; readonly chunk: JsonValue }
  | { readonly type: 'result'; readonly toolUse: ToolUse; readonly result: ToolResult };

/** Progress a call may have waiting; a tool that emits faster than it is read loses its oldest, never its result. */
const maxWaitingProgress = 64;

/** Merges calls that run at the same time into one stream of what they emit and give back. */
export class ToolQueue {
  readonly #concurrency: number;
  readonly #waiting: (() => void)[] = [];
  #items: ToolQueueItem[] = [];
  #wake: (() => void) | undefined;
  #running = 0;

  constructor(options: { readonly concurrency: number }) {
    this.#concurrency = Math.max(1, options.concurrency);
  }

  /** Begins the call at once, or when one of the running ends. `run` must not reject. */
  start(toolUse: ToolUse, run: (emit: (chunk: JsonValue) => void) => Promise<ToolResult>): void {
    const begin = (): void => {
      this.#running += 1;
      const emit = (chunk: JsonValue): void => this.#pushProgress({ type: 'progress', toolUse, chunk });
      void run(emit).then((result) => {
        this.#running -= 1;
        this.#push({ type: 'result', toolUse, result });
        this.#waiting.shift()?.();
      });
    };
    if (this.#running < this.#concurrency) begin();
    else this.#waiting.push(begin);
  }

  /** What has come in since the last time, until all calls have given their result. */
  async *drain(): AsyncGenerator<readonly ToolQueueItem[]> {
    while (this.#running || this.#waiting.length || this.#items.length) {
      if (!this.#items.length) await new Promise<void>((resolve) => (this.#wake = resolve));
      const items = this.#items;
      this.#items = [];
      yield items;
    }
  }

  #pushProgress(item: ToolQueueItem): void {
    const waiting = this.#items.filter(({ type, toolUse }) => type === item.type && toolUse === item.toolUse);
    if (waiting.length >= maxWaitingProgress) this.#items.splice(this.#items.indexOf(waiting[0]!), 1);
    this.#push(item);
  }

  #push(item: ToolQueueItem): void {
    this.#items.push(item);
    this.#wake?.();
    this.#wake = undefined;
  }
}
