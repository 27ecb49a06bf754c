import type { AgentEvent } from '../../event/agent-event.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { jsonForm } from '../../message/json/json-form.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { Suspension } from '../../tool/run-call.ts';

export type ToolQueueItem =
  | { readonly type: 'progress'; readonly toolUse: ToolUse; readonly chunk: JsonValue }
  | { readonly type: 'events'; readonly toolUse: ToolUse; readonly events: readonly AgentEvent[] }
  | {
      readonly type: 'outcome';
      readonly toolUse: ToolUse;
      /** `undefined` if the tool has not started. */
      readonly outcome: ToolResult | Suspension | undefined;
    }
  | { readonly type: 'failure'; readonly toolUse: ToolUse; readonly error: unknown };

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

/** Merges the output and the results of concurrent tool calls into one stream. */
export interface ToolQueue {
  /**
   * Starts the tool call at once. At the limit of `concurrency`, starts it when another one ends.
   */
  start(
    toolUse: ToolUse,
    run: (sink: ToolSink) => Promise<ToolResult | Suspension | undefined>,
  ): void;
  /** Yields the new items, until all tool calls have ended. */
  drain(): AsyncGenerator<readonly ToolQueueItem[]>;
}

/**
 * Creates a queue. `concurrency`: maximum number of tool calls that run at the same time. Default:
 * no limit.
 */
export function toolQueue(concurrency: number = Infinity): ToolQueue {
  const waiting: (() => void)[] = [];
  let items: ToolQueueItem[] = [];
  let running = 0;
  let wake: (() => void) | undefined;
  return {
    start(toolUse, run) {
      let ended = false;
      const put = (item: ToolQueueItem): void => {
        if (ended) return;
        items.push(item);
        wake?.();
      };
      const end = (item: ToolQueueItem): void => {
        put(item);
        ended = true;
        running -= 1;
        if (item.type === 'failure') waiting.length = 0;
        waiting.shift()?.();
      };
      const sink: ToolSink = {
        emit(chunk) {
          const form = jsonForm(chunk, `The progress of "${toolUse.name}"`) ?? null;
          put({ type: 'progress', toolUse, chunk: form });
          const all = items.filter((item) => item.type === 'progress' && item.toolUse === toolUse);
          if (all.length > maxWaitingProgress) items.splice(items.indexOf(all[0]!), 1);
        },
        forward: (events) => put({ type: 'events', toolUse, events }),
      };
      const begin = (): void => {
        running += 1;
        run(sink).then(
          (outcome) => end({ type: 'outcome', toolUse, outcome }),
          (error: unknown) => end({ type: 'failure', toolUse, error }),
        );
      };
      if (running >= Math.max(1, concurrency)) waiting.push(begin);
      else begin();
    },
    async *drain() {
      while (running || items.length) {
        if (!items.length) await new Promise<void>((resolve) => (wake = resolve));
        const ready = items;
        items = [];
        yield ready;
      }
    },
  };
}
