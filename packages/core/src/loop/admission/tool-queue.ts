import type { AgentEvent } from '../../event/agent-event.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Suspension } from '../../tool/run-call.ts';

export type ToolQueueItem =
  | { readonly type: 'progress'; readonly toolUse: ToolUse; readonly chunk: JsonValue }
  | { readonly type: 'events'; readonly toolUse: ToolUse; readonly events: readonly AgentEvent[] }
  | {
      readonly type: 'outcome';
      readonly toolUse: ToolUse;
      /** Nothing: the call has not started. */
      readonly outcome: ToolResult | Suspension | undefined;
    }
  | { readonly type: 'failure'; readonly toolUse: ToolUse; readonly error: unknown };

/** Where a call puts what it has before its end; what comes after it is dropped. */
export interface ToolSink {
  emit(chunk: JsonValue): void;
  forward(events: readonly AgentEvent[]): void;
}

/**
 * Progress a call may have waiting; a tool that emits faster than it is read loses its oldest,
 * never its result.
 */
const maxWaitingProgress = 64;

/** Merges calls that run at the same time into one stream of what they emit and give back. */
export interface ToolQueue {
  /** Begins the call at once, or when one of the running ends. */
  start(
    toolUse: ToolUse,
    run: (sink: ToolSink) => Promise<ToolResult | Suspension | undefined>,
  ): void;
  /** What has come in since the last time, until all calls have ended. */
  drain(): AsyncGenerator<readonly ToolQueueItem[]>;
}

/** `concurrency`: calls that run at the same time. */
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
          put({ type: 'progress', toolUse, chunk: structuredClone(chunk) });
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
