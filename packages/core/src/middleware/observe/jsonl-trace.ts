import { AgentError } from '../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { Middleware } from '../../agent/middleware.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { maskErrors } from './mask-errors.ts';
import { maskParameters } from './mask-parameters.ts';
import type { JsonValue } from '../../message/json/json.ts';

export interface JsonlTraceOptions {
  /**
   * Whether to write each chunk of a reply too. Tool arguments then appear as text fragments, in
   * which `mask` cannot find secrets. Default false: the event `post-reasoning` contains the whole
   * reply.
   */
  readonly chunks?: boolean;
  /**
   * Whether to write the messages and tools of each request too. A long conversation appears again
   * in every request. Default false: only the number of messages and tools is written.
   */
  readonly requests?: boolean;
  /**
   * Returns the value to write for an event, or `undefined` to leave the event out. Default:
   * `maskParameters`, and `maskSecrets` for the texts of errors.
   */
  readonly mask?: (event: JsonValue) => JsonValue | undefined;
  /**
   * Maximum number of events that wait for a slow sink. Default 10,000. Further events are dropped
   * and counted. Events that are not JSON, or for which `mask` throws, are dropped and counted too.
   */
  readonly maxWaiting?: number;
  /**
   * Function that is called once, when the sink fails. No event is written after that. Default:
   * `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

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
 * Whether events of a type contain only a piece of a value. Another event contains the whole value
 * later.
 */
const isChunk: Readonly<Record<AgentEvent['type'], boolean>> = {
  'run-start': false,
  'pre-call': false,
  'post-call': false,
  'pre-reasoning': false,
  'post-reasoning': false,
  'reasoning-chunk': true,
  'tool-input-chunk': true,
  'hosted-tool-chunk': true,
  'pre-acting': false,
  'acting-chunk': true,
  'post-acting': false,
  'pre-summary': false,
  'summary-chunk': true,
  'post-summary': false,
  'step-reset': false,
  'context-fitted': false,
  suspended: false,
  error: false,
  'run-end': false,
};

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
  checkFields('CONFIGURATION', where, { sink }, 'sink:getWriter()');
  const kinds =
    'chunks:boolean|? requests:boolean|? mask:function|? maxWaiting:count|? onError:function|?';
  checkOptions('CONFIGURATION', where, options, kinds);
  if (sink.locked)
    throw new AgentError('CONFIGURATION', `${where}: the sink is locked by another writer.`);
  const {
    chunks = false,
    requests = false,
    mask = withoutSecrets,
    maxWaiting = 10_000,
    onError,
  } = options;
  const writer = sink.getWriter();
  const encoder = new TextEncoder();
  let waiting = 0;
  let dropped = 0;
  let failed = false;
  let closing: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();

  const fail = (cause: unknown): void => {
    if (failed) return;
    failed = true;
    const error = new AgentError('STORAGE_FAILED', 'The trace could not be written.', { cause });
    reportFailure('jsonlTrace():', onError, error);
  };
  const write = (value: JsonValue): void => {
    waiting += 1;
    const written = writer
      .write(encoder.encode(`${JSON.stringify(value)}\n`))
      .finally(() => (waiting -= 1));
    last = written.catch(fail);
  };
  const trace = (event: AgentEvent): void => {
    if (failed || closing) return;
    if (waiting >= maxWaiting) {
      dropped += 1;
      return;
    }
    let masked: JsonValue | undefined;
    try {
      masked = mask(toJson(event, requests));
    } catch {
      // The event is not JSON, or `mask` threw. The event is dropped, because without a mask it
      // could reveal secrets.
      dropped += 1;
    }
    if (masked === undefined) return;
    if (dropped > 0) write({ type: 'dropped', events: dropped });
    dropped = 0;
    write(masked);
  };

  const close = async (): Promise<void> => {
    if (dropped > 0 && !failed) write({ type: 'dropped', events: dropped });
    await last;
    if (!failed) await writer.close().catch(fail);
  };

  const types = Object.entries(isChunk).flatMap(([type, chunk]) => (chunk && !chunks ? [] : type));
  return {
    name: 'jsonlTrace',
    onError: 'ignore',
    // Runs last, so that the trace gets events after the other hooks changed them. Subscribes by
    // type, so that the deltas of a reply cost nothing unless `chunks` is set.
    on: Object.fromEntries(types.map((type) => [type, { handle: trace, priority: Infinity }])),
    settled: () => last,
    close: () => (closing ??= close()),
  };
}

function toJson(event: AgentEvent, requests: boolean): JsonValue {
  const slim =
    requests || !('messages' in event)
      ? event
      : {
          ...event,
          messages: event.messages.length,
          ...('tools' in event && { tools: event.tools.length }),
        };
  return JSON.parse(JSON.stringify(slim)) as JsonValue;
}

function withoutSecrets(event: JsonValue): JsonValue {
  return maskErrors(maskParameters(event));
}
