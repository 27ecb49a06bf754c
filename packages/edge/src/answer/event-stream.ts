import type { AgentEvent, EventBatch } from '@isoloop/core';
import type { EncodeBatch } from '../settings/turn-format.ts';
import { withPublicErrors } from '../http/error-response.ts';
import { streamResponse } from '../http/stream-response.ts';

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
 * Returns a response whose body is a stream of events, with one chunk of bytes per batch. Encodes a
 * batch only when the client reads it. Server-sent events end with `[DONE]`, also after the `error`
 * event of a failed run. `kind` names the format of the client.
 */
export function eventStreamResponse(
  { kind }: { readonly kind: string },
  { batches, encode, eventId, keepAliveMs, onCancel, onError }: EventStreamOptions,
): Response {
  const encoder = new TextEncoder();

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
    return { text: text + streamEnd(kind), isLast: true };
  };

  const next = async () => {
    const { text, isLast } = await nextChunk();
    return { bytes: encoder.encode(text), isLast };
  };
  return streamResponse({ next, cancel: onCancel }, { kind, keepAliveMs });
}

/** Returns the last text of a stream. An object needs none. */
export function streamEnd(kind: string): string {
  return kind === 'object' ? '' : 'data: [DONE]\n\n';
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
