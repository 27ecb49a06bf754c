import { AgentError, type AgentStream, type EventBatch, type Memory } from '@isoloop/core';
import { eventWith } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EncodeBatch, LiveTurn } from '../settings/turn-format.ts';
import { batchesAfter } from './batches-after.ts';
import { awaitOpening, streamEnd, eventStreamResponse, toText } from './event-stream.ts';
import { echoHeader } from '../http/header-names.ts';
import { openInTime } from '../http/open-in-time.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { echoOf } from './echo.ts';
import { turnFormat, type RequestedFormat } from './formats.ts';

export interface LiveResponseOptions {
  readonly format: RequestedFormat;
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
  const { rejoin, settings, inRequest } = options;
  const format = turnFormat(settings, options.format);
  if (format.wholeAnswer) {
    const live = await turn;
    await live.stream.result;
    const echo = inRequest && echoOf(inRequest.memory);
    const headers = echo === undefined ? {} : { [echoHeader]: echo };
    return format.wholeAnswer(live, headers);
  }
  const isWaiting = turn instanceof Promise;
  let live: LiveTurn | undefined;
  let encode: EncodeBatch = () => [];
  const readBatches = async function* (): AsyncGenerator<EventBatch> {
    try {
      live = await turn;
    } catch (error) {
      encode = await format.encoder(undefined, {});
      // The queued turn could not begin, so the stream has only an error.
      return yield [eventWith({ type: 'error', error: AgentError.from(error).toJSON() })];
    }
    const { stream, agent } = live;
    const seenSeq = seqIn(rejoin?.lastEventId, stream.runId);
    const isWhole = rejoin !== undefined && !seenSeq;
    encode = await format.encoder(live, { memory: inRequest?.memory, isWhole });
    yield* seenSeq
      ? batchesAfter(agent, { runId: stream.runId, seenSeq, prime: encode })
      : stream.batches();
  };
  const batches = readBatches();
  const { eventIds, opens } = format;
  const hasEventIds = eventIds === 'all' || (eventIds === 'queued' && !inRequest);
  let opened: AsyncIterator<EventBatch> = batches;
  // A client that reconnects may have seen all events, so no opening batch may come.
  if (!isWaiting && !rejoin) opened = await awaitOpening(batches, opens);
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
  requested: RequestedFormat,
  answer: Promise<Response>,
): Promise<Response> {
  const { kind, encoder, wholeAnswer } = turnFormat(settings, requested);
  if (wholeAnswer) return answer;
  const { keepAliveMs } = settings.limits;
  return openInTime(c, answer, {
    kind,
    keepAliveMs,
    encodeError: async ({ code, message }) => {
      const encode = await encoder(undefined, {});
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

/**
 * Returns the number of the last event that the client has seen. Returns `undefined` if that event
 * belongs to another run.
 */
function seqIn(lastEventId: string | undefined, runId: string): number | undefined {
  const [run, seq] = lastEventId?.split(':') ?? [];
  return run === runId.slice(-8) && /^\d{1,15}$/.test(seq ?? '') ? Number(seq) : undefined;
}
