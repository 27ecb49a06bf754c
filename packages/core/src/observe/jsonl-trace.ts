import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { tell } from '../error/tell.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { maskParameters } from './mask-parameters.ts';
import type { JsonValue } from '../message/json.ts';

export interface JsonlTraceOptions {
  /**
   * Whether to write each chunk of a reply too. Tool arguments then appear as fragments of text
   * that no mask can check. Default false: `post-reasoning` has the whole reply.
   */
  readonly chunks?: boolean;
  /**
   * Whether to write the messages and tools of each request too. A long conversation repeats them
   * in every request. Default false: only their number.
   */
  readonly requests?: boolean;
  /**
   * Returns what the trace gets in place of an event; `undefined` leaves the event out. Default:
   * `maskParameters`, which masks secrets.
   */
  readonly mask?: (event: JsonValue) => JsonValue | undefined;
  /**
   * Largest number of events that wait for a slow sink; default 10,000. Further events are dropped
   * and counted. So are events that are not JSON or for which `mask` throws.
   */
  readonly maxWaiting?: number;
  /** Called once, when the sink fails; nothing is written after that. Default: `console.warn`. */
  readonly onError?: (error: AgentError) => void;
}

export interface JsonlTrace extends Middleware {
  /** Resolves when everything traced so far is written, or the sink has failed. */
  settled(): Promise<void>;
  /**
   * Writes the waiting events and closes the sink; later events are dropped. Never rejects: a
   * failure goes to `onError`.
   */
  close(): Promise<void>;
}

/** Whether an event of each type is one piece of something that later comes whole. */
const isChunk: Readonly<Record<AgentEvent['type'], boolean>> = {
  'run-start': false,
  'pre-call': false,
  'post-call': false,
  'pre-reasoning': false,
  'post-reasoning': false,
  'reasoning-chunk': true,
  'tool-input-chunk': true,
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
 * Writes an agent's events to a stream, one JSON object per line, as the hooks left them. A run
 * never waits for the sink, and a failing sink does not fail the run. One trace may serve many
 * agents. Throws `CONFIGURATION` for an option of the wrong kind and for a locked sink.
 */
export function jsonlTrace(
  sink: WritableStream<Uint8Array>,
  options: JsonlTraceOptions = {},
): JsonlTrace {
  const where = 'jsonlTrace()';
  checkFields('CONFIGURATION', where, { sink }, 'sink:getWriter()');
  const kinds =
    'chunks:boolean|? requests:boolean|? mask:function|? maxWaiting:count|? onError:function|?';
  checkFields('CONFIGURATION', where, options, kinds);
  if (sink.locked)
    throw new AgentError('CONFIGURATION', `${where}: the sink is locked by another writer.`);
  const {
    chunks = false,
    requests = false,
    mask = maskParameters,
    maxWaiting = 10_000,
    onError = warn,
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
    tell(onError, new AgentError('STORAGE_FAILED', 'The trace could not be written.', { cause }));
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
      // The event is not JSON, or the mask threw. Written unmasked, it could reveal secrets.
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
    // Runs last, to see events as the other hooks changed them. Subscribes by type, so that the
    // deltas of a reply cost nothing unless they are traced.
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

function warn(error: AgentError): void {
  console.warn(`${error.code}: ${error.message}`, error.cause);
}
