import type { AgentEvent, EventBatch } from '@isoloop/core';
import { keepAliveHeader, objectMediaType, keepAlive, timerMs } from '@isoloop/core/adapter';
import { withPublicErrors } from '../http/error-response.ts';

/**
 * Converts a batch of events to what the client gets. Texts are sent as they are, and objects as
 * server-sent events. For an empty list, nothing is sent.
 */
export type EncodeBatch = (batch: EventBatch) => readonly (object | string)[];

export interface EventStreamOptions {
  readonly batches: AsyncIterator<EventBatch>;
  readonly encode: EncodeBatch;
  /**
   * Function that returns the id of a batch. A client that reconnects sends the last id as
   * `Last-Event-ID`.
   */
  readonly eventId?: (batch: EventBatch) => string | undefined;
  /** Maximum time without data, in milliseconds. */
  readonly keepAliveMs: number;
  /** Called when the client disconnects. */
  readonly onCancel: () => void;
  /** Called when the run fails, after its `error` event has reached the client. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Creates the body of an event stream, with one chunk of bytes per batch. Encodes a batch only when
 * the client reads it. Server-sent events end with `[DONE]`, also after the `error` event of a
 * failed run. `isObject`: the body is an object that grows.
 */
function eventStream(
  { batches, encode, eventId, keepAliveMs, onCancel, onError }: EventStreamOptions,
  isObject: boolean,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | null = null;
  let isWaiting = false;
  let isSilent = true;

  const textOf = (batch: EventBatch): string => {
    const text = encode(withPublicErrors(batch)).map(toText).join('');
    const id = text && eventId?.(batch);
    return id ? `${text.slice(0, -1)}id: ${id}\n\n` : text;
  };

  /**
   * Returns the next chunk. The end of the run and of the body are one chunk, because each costs.
   */
  const nextChunk = async (): Promise<{ readonly text: string; readonly isLast: boolean }> => {
    let text = '';
    try {
      for (let read = await batches.next(); !read.done; read = await batches.next()) {
        text += textOf(read.value);
        if (text && !read.value.some(endsRun)) return { text, isLast: false };
      }
    } catch (error) {
      onError?.(error);
    }
    return { text: isObject ? text : `${text}data: [DONE]\n\n`, isLast: true };
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Uses one timer for the whole stream, because a timer per batch would cost more time than
        // the batch itself.
        const halfMs = timerMs(keepAliveMs / 2);
        timer = setInterval(() => {
          if (isWaiting && isSilent)
            controller.enqueue(encoder.encode(isObject ? keepAlive : ': keep-alive\n\n'));
          isSilent = true;
        }, halfMs);
      },
      async pull(controller) {
        isWaiting = true;
        const { text, isLast } = await nextChunk();
        isWaiting = false;
        isSilent = false;
        if (timer === null) return;
        if (text) controller.enqueue(encoder.encode(text));
        if (!isLast) return;
        stop();
        controller.close();
      },
      cancel() {
        stop();
        onCancel();
      },
    },
    { highWaterMark: 0 },
  );

  function stop(): void {
    clearInterval(timer);
    timer = null;
  }
}

/** Returns a response whose body is a stream. `kind` names the format of the client. */
export function eventStreamResponse(
  { kind }: { readonly kind: string },
  options: EventStreamOptions,
): Response {
  const isObject = kind === 'object';
  const headers = {
    'content-type': isObject ? objectMediaType : 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    // The page notices a lost stream by its silence.
    [keepAliveHeader]: String(options.keepAliveMs),
    ...(kind === 'ui' && { 'x-vercel-ai-ui-message-stream': 'v1' }),
  };
  return new Response(eventStream(options, isObject), { headers });
}

/**
 * Returns whether a batch contains output. Before the first output, the response's status can still
 * report a failure.
 */
export function hasOutput(batch: EventBatch): boolean {
  const prelude = /^(run-start|pre-call|pre-reasoning|context-fitted|error|run-end)$/;
  return batch.some(({ type }) => !prelude.test(type));
}

/**
 * Returns whether a batch shows that the agent accepted the input. Before such a batch, the
 * response's status can still report a refusal.
 */
export function hasBegun(batch: EventBatch): boolean {
  return batch.some(({ type }) => !/^(run-start|pre-call|error|run-end)$/.test(type));
}

/**
 * Waits for the first batch for which `opens` returns true. Returns an iterator over all batches,
 * including the earlier batches. Rejects if the run fails before that batch.
 */
export async function awaitOpening(
  batches: AsyncIterator<EventBatch>,
  opens: (batch: EventBatch) => boolean,
): Promise<AsyncIterator<EventBatch>> {
  const earlyBatches: EventBatch[] = [];
  for (let read = await batches.next(); !read.done; read = await batches.next()) {
    earlyBatches.push(read.value);
    if (opens(read.value)) break;
  }
  return {
    next: () => {
      const value = earlyBatches.shift();
      return value ? Promise.resolve({ done: false, value }) : batches.next();
    },
  };
}

/** Returns whether an event is the last one of the agent, not of an agent that runs as its tool. */
function endsRun({ type, agentPath }: AgentEvent): boolean {
  return type === 'run-end' && agentPath.length < 2;
}

/** Returns the text for a client. An object becomes a server-sent event. */
export function toText(chunk: object | string): string {
  return typeof chunk === 'string' ? chunk : `data: ${JSON.stringify(chunk)}\n\n`;
}
