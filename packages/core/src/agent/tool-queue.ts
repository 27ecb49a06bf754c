import type { AgentEvent } from '../hook/agent-event.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import type { Suspension } from '../tool/run-call.ts';

export type ToolQueueItem =
  | { readonly type: 'progress'; readonly toolUse: ToolUse; readonly chunk: JsonValue }
  | { readonly type: 'events'; readonly toolUse: ToolUse; readonly events: readonly AgentEvent[] }
  | { readonly type: 'outcome'; readonly toolUse: ToolUse; readonly outcome: ToolResult | Suspension }
  | { readonly type: 'failure'; readonly toolUse: ToolUse; readonly error: unknown };

/** Where a call puts what it has before its end. */
export interface ToolSink {
  emit(chunk: JsonValue): void;
  forward(events: readonly AgentEvent[]): void;
}

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

  /** Begins the call at once, or when one of the running ends. */
  start(toolUse: ToolUse, run: (sink: ToolSink) => Promise<ToolResult | Suspension>): void {
    const sink: ToolSink = {
      emit: (chunk) => this.#pushProgress({ type: 'progress', toolUse, chunk }),
      forward: (events) => this.#push({ type: 'events', toolUse, events }),
    };
    const end = (item: ToolQueueItem): void => {
      this.#running -= 1;
      this.#push(item);
      this.#waiting.shift()?.();
    };
    const begin = (): void => {
      this.#running += 1;
      run(sink).then(
        (outcome) => end({ type: 'outcome', toolUse, outcome }),
        (error: unknown) => end({ type: 'failure', toolUse, error }),
      );
    };
    if (this.#running < this.#concurrency) begin();
    else this.#waiting.push(begin);
  }

  /** What has come in since the last time, until all calls have ended. */
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
