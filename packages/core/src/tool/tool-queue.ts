import type { AgentEvent } from '../event/agent-event.ts';
import type { ToolUse } from '../message/msg.ts';
import { jsonForm, type JsonValue } from '../message/json.ts';
import type { ToolOutcome } from './tool-call.ts';

export type ToolQueueItem =
  | { readonly type: 'progress'; readonly toolUse: ToolUse; readonly chunk: JsonValue }
  | { readonly type: 'events'; readonly toolUse: ToolUse; readonly events: readonly AgentEvent[] }
  | {
      readonly type: 'outcome';
      readonly toolUse: ToolUse;
      readonly outcome: ToolOutcome;
    };

/** Receives the output of a running tool. Output after the end of the tool call is dropped. */
export interface ToolSink {
  emit(chunk: JsonValue): void;
  forward(events: readonly AgentEvent[]): void;
}

/**
 * Maximum number of unread progress items per tool call. If a tool emits more, its oldest items are
 * dropped. Its result is never dropped.
 */
const maxWaitingProgress = 64;

/** A tool call that a queue has started, or will start. */
interface QueuedCall {
  readonly toolUse: ToolUse;
  hasEnded: boolean;
}

/** Merges the output and the results of concurrent tool calls into one stream. */
export class ToolQueue {
  readonly #concurrency: number;
  /** Functions that begin the calls that wait because of the limit. */
  readonly #waiting: (() => Promise<void>)[] = [];
  #items: ToolQueueItem[] = [];
  #handledItems: readonly ToolQueueItem[] = [];
  #runningCount = 0;
  #wake: (() => void) | undefined;

  /** `concurrency`: maximum number of tool calls that run at the same time. Default: no limit. */
  constructor(concurrency: number = Infinity) {
    this.#concurrency = Math.max(1, concurrency);
  }

  /**
   * Starts the tool call at once. At the limit of `concurrency`, starts it when another one has
   * ended and the reader of `next` has handled its outcome. `run` must not reject.
   */
  start(toolUse: ToolUse, run: (sink: ToolSink) => Promise<ToolOutcome>): void {
    const begin = (): Promise<void> => this.#run({ toolUse, hasEnded: false }, run);
    if (this.#runningCount < this.#concurrency) void begin();
    else this.#waiting.push(begin);
  }

  /**
   * Returns the new items, or nothing once all tool calls have ended. Call it when the items before
   * are handled.
   */
  async next(): Promise<readonly ToolQueueItem[] | undefined> {
    for (const { type } of this.#handledItems) if (type === 'outcome') this.#beginNext();
    if (!this.#runningCount) return undefined;
    if (!this.#items.length) await this.#newItem();
    this.#handledItems = this.#items;
    this.#items = [];
    return this.#handledItems;
  }

  /** Begins the next waiting call in the place of one that has ended. */
  #beginNext(): void {
    this.#runningCount -= 1;
    const begin = this.#waiting.shift();
    if (begin) void begin();
  }

  #newItem(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #run(call: QueuedCall, run: (sink: ToolSink) => Promise<ToolOutcome>): Promise<void> {
    const { toolUse } = call;
    this.#runningCount += 1;
    const outcome = await run({
      emit: (chunk) => this.#emit(call, chunk),
      forward: (events) => this.#put(call, { type: 'events', toolUse, events }),
    });
    this.#put(call, { type: 'outcome', toolUse, outcome });
    call.hasEnded = true;
  }

  #emit(call: QueuedCall, value: JsonValue): void {
    const { toolUse } = call;
    const chunk = jsonForm(value, `The progress of "${toolUse.name}"`) ?? null;
    this.#put(call, { type: 'progress', toolUse, chunk });
    const waitingProgress = this.#items.filter(
      (item) => item.type === 'progress' && item.toolUse === toolUse,
    );
    if (waitingProgress.length > maxWaitingProgress)
      this.#items.splice(this.#items.indexOf(waitingProgress[0]!), 1);
  }

  #put(call: QueuedCall, item: ToolQueueItem): void {
    if (call.hasEnded) return;
    this.#items.push(item);
    this.#wake?.();
  }
}
