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

/** Merges the output and the results of concurrent tool calls into one stream. */
export interface ToolQueue {
  /**
   * Starts the tool call at once. At the limit of `concurrency`, starts it when another one has
   * ended and the reader of `next` has handled its outcome. `run` must not reject.
   */
  start(toolUse: ToolUse, run: (sink: ToolSink) => Promise<ToolOutcome>): void;
  /**
   * Returns the new items, or nothing once all tool calls have ended. Call it when the items before
   * are handled.
   */
  next(): Promise<readonly ToolQueueItem[] | undefined>;
}

/**
 * Creates a queue. `concurrency`: maximum number of tool calls that run at the same time. Default:
 * no limit.
 */
export function toolQueue(concurrency: number = Infinity): ToolQueue {
  const waiting: (() => Promise<void>)[] = [];
  let items: ToolQueueItem[] = [];
  let handledItems: readonly ToolQueueItem[] = [];
  let runningCount = 0;
  let wake: (() => void) | undefined;
  return {
    start(toolUse, run) {
      let hasEnded = false;
      const put = (item: ToolQueueItem): void => {
        if (hasEnded) return;
        items.push(item);
        wake?.();
      };
      const sink: ToolSink = {
        emit(chunk) {
          const json = jsonForm(chunk, `The progress of "${toolUse.name}"`) ?? null;
          put({ type: 'progress', toolUse, chunk: json });
          const waitingProgress = items.filter(
            (item) => item.type === 'progress' && item.toolUse === toolUse,
          );
          if (waitingProgress.length > maxWaitingProgress)
            items.splice(items.indexOf(waitingProgress[0]!), 1);
        },
        forward: (events) => put({ type: 'events', toolUse, events }),
      };
      const begin = async (): Promise<void> => {
        runningCount += 1;
        put({ type: 'outcome', toolUse, outcome: await run(sink) });
        hasEnded = true;
      };
      if (runningCount >= Math.max(1, concurrency)) waiting.push(begin);
      else void begin();
    },
    async next() {
      for (const { type } of handledItems) {
        if (type !== 'outcome') continue;
        runningCount -= 1;
        void waiting.shift()?.();
      }
      if (!runningCount) return undefined;
      if (!items.length) await new Promise<void>((resolve) => (wake = resolve));
      handledItems = items;
      items = [];
      return handledItems;
    },
  };
}
