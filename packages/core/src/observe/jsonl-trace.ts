import { AgentError, misconfigured } from '../error/agent-error.ts';
import { reportFailure } from '../error/report-failure.ts';
import type { Middleware } from '../agent/middleware.ts';
import type { AgentEvent, EventOf } from '../event/agent-event.ts';
import { maskErrors, maskParameters } from '../message/mask-parameters.ts';
import type { JsonValue } from '../message/json.ts';
import { syncValue } from '../wait/sync-value.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { boolean, func, nonNegative, optional, withMethod } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { eventHandlers } from '../event/check-hook.ts';

/** Which events `jsonlTrace()` writes, and how it hides secrets. */
export interface JsonlTraceOptions {
  /**
   * Whether to write each chunk of a reply too. Tool arguments then appear as text fragments, in
   * which `mask` cannot find secrets. Default: false, so the event `post-reasoning` contains the
   * whole reply.
   */
  readonly includeChunks?: boolean;
  /**
   * Whether to write the messages and tools of each request too. A long conversation appears again
   * in every request. Default: false, which writes only their numbers.
   */
  readonly includeRequests?: boolean;
  /**
   * Returns the value to write for an event, or `undefined` to leave the event out. Default:
   * `maskParameters`, and `maskSecrets` for the texts of errors.
   */
  readonly mask?: (event: JsonValue) => JsonValue | undefined;
  /**
   * Maximum number of events that wait for a slow sink. Default: 10,000. Further events are dropped
   * and counted. Events that are not JSON, or for which `mask` throws, are dropped and counted too.
   */
  readonly maxWaiting?: number;
  /**
   * Function that is called once, when the sink fails. No event is written after that. Default:
   * `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

/** What `jsonlTrace()` returns: middleware that you can close. */
export interface JsonlTrace extends Middleware {
  /** Resolves when all events so far are written or the sink has failed. */
  settled(): Promise<void>;
  /**
   * Writes the waiting events and closes the sink. Later events are dropped. Never rejects;
   * `onError` gets the error of a failure.
   */
  close(): Promise<void>;
}

/**
 * Writes an agent's events to a stream, one JSON object per line, after the hooks changed them. A
 * run does not wait for the sink, and a failing sink does not fail the run. Several agents can
 * share one trace. Throws `CONFIGURATION` for an option of the wrong kind or for a locked sink.
 */
export function jsonlTrace(
  sink: WritableStream<Uint8Array>,
  options: JsonlTraceOptions = {},
): JsonlTrace {
  const where = 'jsonlTrace()';
  checkFields(where, { sink }, { sink: withMethod('getWriter') });
  checkOptions(where, options, jsonlTraceOptions);
  if (sink.locked) throw misconfigured(`${where}: the sink is locked by another writer.`);
  const { includeChunks = false, includeRequests = false, mask = maskEvent } = options;
  const { add, ...ends } = lineWriter(sink.getWriter(), options);
  const trace = (event: AgentEvent): void =>
    add(() => syncValue('mask', mask(toJson(event, includeRequests))));
  // Another event contains the whole value of the chunks.
  const types = Object.keys(eventHandlers).filter(
    (type) => includeChunks || !type.endsWith('-chunk'),
  );
  return {
    name: 'jsonlTrace',
    onError: 'ignore',
    // Runs last, so that the trace gets events after the other hooks changed them. Subscribes by
    // type, so that the deltas of a reply cost nothing unless `includeChunks` is set.
    on: Object.fromEntries(types.map((type) => [type, { handle: trace, priority: Infinity }])),
    ...ends,
  };
}

const jsonlTraceOptions: OptionTable<JsonlTraceOptions> = {
  includeChunks: optional(boolean),
  includeRequests: optional(boolean),
  mask: optional(func),
  onError: optional(func),
  maxWaiting: optional(nonNegative),
};

/** Writes lines to a sink. Drops and counts lines while too many wait. */
function lineWriter(
  writer: WritableStreamDefaultWriter<Uint8Array>,
  { maxWaiting = 10_000, onError }: JsonlTraceOptions,
) {
  const encoder = new TextEncoder();
  let waitingCount = 0;
  let droppedCount = 0;
  let hasFailed = false;
  let closing: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();

  const fail = (cause: unknown): void => {
    if (hasFailed) return;
    hasFailed = true;
    const error = new AgentError('STORAGE_FAILED', 'The trace could not be written.', { cause });
    reportFailure('jsonlTrace():', onError, error);
  };
  const write = (value: JsonValue): void => {
    waitingCount += 1;
    last = writer
      .write(encoder.encode(`${JSON.stringify(value)}\n`))
      .finally(() => (waitingCount -= 1))
      .catch(fail);
  };
  const writeDropped = (): void => {
    if (droppedCount > 0) write({ type: 'dropped', events: droppedCount });
    droppedCount = 0;
  };
  const close = async (): Promise<void> => {
    if (!hasFailed) writeDropped();
    await last;
    if (!hasFailed) await writer.close().catch(fail);
  };
  return {
    /** Writes the value that `make` returns. Drops and counts it if `make` throws. */
    add(make: () => JsonValue | undefined): void {
      if (hasFailed || closing) return;
      if (waitingCount >= maxWaiting) {
        droppedCount += 1;
        return;
      }
      let value: JsonValue | undefined;
      try {
        value = make();
      } catch {
        // The event is not JSON, or `mask` threw. The event is dropped, because without a mask it
        // could reveal secrets.
        droppedCount += 1;
      }
      if (value === undefined) return;
      writeDropped();
      write(value);
    },
    settled: () => last,
    close: () => (closing ??= close()),
  };
}

function toJson(event: AgentEvent, includeRequests: boolean): JsonValue {
  const { messages, tools } = event as Partial<EventOf<'pre-reasoning'>>;
  const counts = { messages: messages?.length, tools: tools?.length };
  const visibleEvent = includeRequests ? event : { ...event, ...counts };
  return JSON.parse(JSON.stringify(visibleEvent)) as JsonValue;
}

function maskEvent(event: JsonValue): JsonValue {
  return maskErrors(maskParameters(event));
}
