import { AgentError, type AgentStream, type EventBatch, type Memory } from '@isoloop/core';
import { eventWith, withEarlierAnswer } from '@isoloop/core/host';
import { createUiMessageEncoder, type UiChunk } from '@isoloop/core/stream';
import type { Context } from 'hono';
import type { EncodeBatch, LiveTurn } from '../settings/openai-routes.ts';
import { batchesAfter } from './batches-after.ts';
import { awaitOpening, streamEnd, eventStreamResponse, toText } from './event-stream.ts';
import { echoHeader } from '../http/header-names.ts';
import { openInTime } from '../http/open-in-time.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { toPublicEvents } from './public-events.ts';
import { echoOf } from './echo.ts';
import { objectEncoder } from './object-encoder.ts';
import { isOpenAiFormat, openAiOf, opens, type TurnFormat } from './turn-format.ts';

export interface LiveResponseOptions {
  readonly format: TurnFormat;
  readonly settings: HandlerSettings;
  /**
   * Set if the client did not start the turn with this request. The client then gets the whole
   * answer, or the events after `lastEventId`.
   */
  readonly rejoin?: { readonly lastEventId?: string | undefined };
  /** Set for a turn that runs within this request. */
  readonly inRequest?: {
    /** Memory whose echo the client gets. */
    readonly memory: Memory;
    /** Called when the client disconnects. */
    readonly onCancel: () => void;
  };
}

/**
 * Returns a response with the turn's events in the client's format. The stream of a queued turn
 * sends no events until the turn begins. In `ui` and `events`, each chunk ends with the id
 * `<run>:<event>`. A client that reconnects sends this id as `Last-Event-ID`.
 */
export async function liveResponse(
  turn: LiveTurn | Promise<LiveTurn>,
  options: LiveResponseOptions,
): Promise<Response> {
  const { format, rejoin, settings, inRequest } = options;
  if (isOpenAiFormat(format) && !format.stream) {
    const live = await turn;
    await live.stream.result;
    const echo = inRequest && echoOf(inRequest.memory);
    const headers = echo === undefined ? {} : { [echoHeader]: echo };
    return openAiOf(settings).wholeResponse(live, format, headers);
  }
  const isWaiting = turn instanceof Promise;
  let live: LiveTurn | undefined;
  let encode: EncodeBatch = () => [];
  const readBatches = async function* (): AsyncGenerator<EventBatch> {
    try {
      live = await turn;
    } catch (error) {
      encode = await encoderOf(undefined, options);
      // The queued turn could not begin, so the stream has only an error.
      return yield [eventWith({ type: 'error', error: AgentError.from(error).toJSON() })];
    }
    encode = await encoderOf(live, options);
    const { stream, agent } = live;
    const seenSeq = seqIn(rejoin?.lastEventId, stream.runId);
    yield* seenSeq
      ? batchesAfter(agent, { runId: stream.runId, seenSeq, prime: encode })
      : stream.batches();
  };
  const batches = readBatches();
  // A turn within its request cannot be rejoined. Its `events` still have the id, so that a client
  // that lost its connection starts no second turn.
  const hasEventIds = format.kind === 'events' || (format.kind === 'ui' && !inRequest);
  let opened: AsyncIterator<EventBatch> = batches;
  // A client that reconnects may have seen all events, so no opening batch may come.
  if (!isWaiting && !rejoin) opened = await awaitOpening(batches, (batch) => opens(format, batch));
  return eventStreamResponse(format, {
    batches: opened,
    encode: (batch) => encode(batch),
    eventId: (batch) => (live && hasEventIds ? eventIdOf(live.stream, batch) : undefined),
    keepAliveMs: settings.limits.keepAliveMs,
    // In a queue, a disconnected client does not stop the turn: other clients may still read it.
    onCancel: () => inRequest?.onCancel(),
  });
}

/**
 * Returns the answer of a turn in the client's format. A stream opens within a second, although its
 * turn may begin later.
 */
export async function openTurn(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  format: TurnFormat,
  answer: Promise<Response>,
): Promise<Response> {
  if (isOpenAiFormat(format) && !format.stream) return answer;
  const { kind } = format;
  const { keepAliveMs } = settings.limits;
  return openInTime(c, answer, {
    kind,
    keepAliveMs,
    encodeError: async ({ code, message }) => {
      const encode = await encoderOf(undefined, { format, settings });
      const error = new AgentError(code, message).toJSON();
      const texts = encode([eventWith({ type: 'error', error })]).map(toText);
      return texts.join('') + streamEnd(kind);
    },
  });
}

/**
 * Returns the id of a batch for `Last-Event-ID`: the end of the run's id, and the number of
 * the last event. Events of agents that run as tools have another run id, but their `seq` counts
 * within this run.
 */
function eventIdOf({ runId }: Pick<AgentStream, 'runId'>, batch: EventBatch): string {
  return `${runId.slice(-8)}:${batch.at(-1)!.seq}`;
}

async function encoderOf(
  live: LiveTurn | undefined,
  { format, rejoin, settings, inRequest }: LiveResponseOptions,
): Promise<EncodeBatch> {
  if (format.kind === 'events')
    return (batch) => toPublicEvents(batch, inRequest?.memory, format.inspect);
  if (format.kind === 'object') return objectEncoder(live?.agent);
  if (isOpenAiFormat(format)) return openAiOf(settings).encoder(live, format);
  const messageId = live?.turn.messageId;
  const encoder = createUiMessageEncoder({ events: format.events, typed: format.typed, messageId });
  if (inRequest)
    return (batch) =>
      encoder.encode(batch).map((chunk) => addEcho(chunk, echoOf(inRequest.memory)));
  const isWhole = live && rejoin && !seqIn(rejoin.lastEventId, live.stream.runId);
  return withEarlierAnswer(encoder, isWhole ? live.earlierMessages : []).encode;
}

/**
 * Adds the echo, which identifies the session state for the client's next request, to the metadata
 * of a chunk. The first chunk has the echo from before the turn, and the last chunk has the new
 * echo.
 */
function addEcho(chunk: UiChunk, echo: string | undefined): UiChunk {
  if (echo === undefined || !('messageMetadata' in chunk)) return chunk;
  return { ...chunk, messageMetadata: { ...chunk.messageMetadata, echo } };
}

/**
 * Returns the number of the last event that the client has seen. Returns `undefined` if that event
 * belongs to another run.
 */
function seqIn(lastEventId: string | undefined, runId: string): number | undefined {
  const [run, seq] = lastEventId?.split(':') ?? [];
  return run === runId.slice(-8) && /^\d{1,15}$/.test(seq ?? '') ? Number(seq) : undefined;
}
