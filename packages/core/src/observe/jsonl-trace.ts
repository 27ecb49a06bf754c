import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { tell } from '../error/tell.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { maskParameters } from './mask-parameters.ts';
import type { JsonValue } from '../message/json.ts';

export interface JsonlTraceOptions {
  /**
   * Each chunk of a reply too, arguments of tools as pieces of text that no mask sees through.
   * Default false: `post-reasoning` has the whole.
   */
  readonly chunks?: boolean;
  /**
   * The messages and tools of each request too, which a long conversation repeats each time.
   * Default false: their number.
   */
  readonly requests?: boolean;
  /**
   * What stands in the trace in place of an event; `undefined` leaves it out. Default: secrets
   * masked by `maskParameters`.
   */
  readonly mask?: (event: JsonValue) => JsonValue | undefined;
  /**
   * Events that wait for a slow sink, at most; more are dropped and counted, as are those that are
   * no JSON or that `mask` throws for. Default 10,000.
   */
  readonly maxWaiting?: number;
  /**
   * Told once, when the sink has failed; nothing is written from then on. Default: `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

export interface JsonlTrace extends Middleware {
  /** Resolves when all that was traced so far is written, or the sink has failed. */
  settled(): Promise<void>;
  /**
   * Writes what waits and closes the sink; what is traced from then on is dropped. Never rejects: a
   * failure goes to `onError`.
   */
  close(): Promise<void>;
}

/** Every event, and whether it is a piece of something that comes as a whole later. */
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
 * Writes an agent's events into a stream, one JSON object a line, as the hooks have left them. A
 * run never waits for the sink, and a sink that fails does not fail it. One may serve many agents.
 * Throws `CONFIGURATION` for an option of the wrong kind and a sink that is locked.
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
    throw new AgentError(
      'CONFIGURATION',
      `${where}: the sink is locked: somebody else writes into it.`,
    );
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
      // No JSON, or the mask threw: what it would have hidden must not get out.
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
    // Last, to see what the other hooks made of an event; by type, so that a reply's deltas cost
    // nothing where they are not traced.
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
