import { AgentError } from '@isoloop/core';
import type { AgentStream, EventBatch, Msg, ReActAgent } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import { eventOf, toEvents } from '../turn/answer-so-far.ts';
import { batchesAfter } from '../turn/batches-after.ts';
import type { CompletionCall } from '../completions/completion-call.ts';
import type { OpenAiFace } from '../completions/completion-answer.ts';
import { awaitOpening, hasOutput, streamResponse, type EncodeBatch } from '../turn/event-stream.ts';
import type { HandlerSettings } from '../handler-options.ts';
import { toPublicEvents } from '../turn/public-events.ts';
import { objectEncoder } from '../wire/object-encoder.ts';
import { isOpenAiFace, openAiOf, opens, type OpenAi, type TurnFace } from './turn-face.ts';
import type { QueuedTurn } from './queue/turn-queue.ts';

/** Turn that has begun. Any number of clients can read its events. */
export interface LiveTurn {
  readonly turn: QueuedTurn;
  readonly agent: ReActAgent;
  /**
   * Detached stream of the run. The run continues without readers, and the stream keeps all its
   * events.
   */
  readonly stream: AgentStream;
  /** Settings of the answer. Set if a client of OpenAI asked for the turn. */
  readonly call?: CompletionCall | undefined;
  /** Messages of the answer that were stored before this run resumed the turn. */
  readonly before: readonly Msg[];
}

export interface LiveResponseOptions {
  readonly face: TurnFace;
  readonly settings: Pick<HandlerSettings, 'limits' | 'openai'>;
  /**
   * Set if the client did not start the turn with this request. The client then gets the whole
   * answer, or the events after `lastEventId`.
   */
  readonly replay?: { readonly lastEventId?: string | undefined };
}

/**
 * Returns a response with the turn's events in the client's format. The stream of a queued turn
 * sends no events until the turn begins. In `ui` and `events`, each chunk ends with the id
 * `<run>:<event>`. A client that reconnects sends this id as `Last-Event-ID`.
 */
export async function liveResponse(
  given: LiveTurn | Promise<LiveTurn>,
  options: LiveResponseOptions,
): Promise<Response> {
  const { face, replay, settings } = options;
  if (isOpenAiFace(face) && !face.stream) {
    const { turn, stream, agent } = await given;
    const result = await stream.result;
    const openai = openAiOf(settings);
    return openai.whole(result, await openai.faceOf(face, turn.turn, agent.memory));
  }
  const waits = given instanceof Promise;
  let live: LiveTurn | undefined;
  let encode: EncodeBatch = () => [];
  const read = async function* (): AsyncGenerator<EventBatch> {
    try {
      live = await given;
    } catch (error) {
      encode = await encoderOf(undefined, options);
      // The queued turn could not begin, so the stream has only an error.
      return yield [eventOf({ type: 'error', error: AgentError.from(error).toJSON() })];
    }
    encode = await encoderOf(live, options);
    const { stream, agent } = live;
    const after = seqIn(replay?.lastEventId, stream.runId);
    yield* after
      ? batchesAfter(agent, { runId: stream.runId, after, prime: encode })
      : stream.batches();
  };
  const batches = read();
  return streamResponse(face, {
    // A client that reconnects may have seen all events, so no opening batch may come.
    batches: waits || replay ? batches : await awaitOpening(batches, (batch) => opens(face, batch)),
    encode: (batch) => encode(batch),
    place: (batch) =>
      live && /^(ui|events)$/.test(face.kind) ? placeOf(live.stream, batch) : undefined,
    keepAliveMs: settings.limits.keepAliveMs,
    // A disconnected client does not stop the turn, because other clients may still read it.
    onCancel: () => {},
  });
}

/**
 * Returns the id of the stream position after a batch: the end of the run's id, and the number of
 * the last event. Events of agents that run as tools have another run id, but their `seq` counts
 * within this run.
 */
export function placeOf({ runId }: Pick<AgentStream, 'runId'>, batch: EventBatch): string {
  return `${runId.slice(-8)}:${batch.at(-1)!.seq}`;
}

async function encoderOf(
  live: LiveTurn | undefined,
  { face, replay, settings }: LiveResponseOptions,
): Promise<EncodeBatch> {
  if (face.kind === 'events') return (batch) => toPublicEvents(batch, undefined, face.inspect);
  if (face.kind === 'object') return objectEncoder(live?.agent);
  if (isOpenAiFace(face)) {
    const openai = openAiOf(settings);
    if (!live) return openai.encoder(face, undefined);
    return openai.encoder(await faceOfLive(face, live, openai), live.call);
  }
  const encoder = createUiMessageEncoder({
    events: face.events,
    messageId: live?.turn.messageId,
  });
  const isWhole = live && replay && !seqIn(replay.lastEventId, live.stream.runId);
  if (!isWhole || !live.before.length) return (batch) => encoder.encode(batch);
  return (batch) => {
    const start =
      batch.findIndex(({ type, agentPath }) => type === 'run-start' && agentPath.length < 2) + 1;
    if (!start) return encoder.encode(batch);
    const earlier = encoder
      .encode(toEvents(live.before))
      .filter(({ type }) => type !== 'data-isoloop-event');
    return [
      ...encoder.encode(batch.slice(0, start)),
      ...earlier,
      ...encoder.encode(batch.slice(start)),
    ];
  };
}

/**
 * Returns the face for an answer of the turn. Waits until the answer begins or ends, because the
 * log has the turn's input only then.
 */
async function faceOfLive(face: OpenAiFace, live: LiveTurn, openai: OpenAi): Promise<OpenAiFace> {
  const { turn, stream, agent } = live;
  if (face.kind !== 'response') return face;
  try {
    for await (const batch of stream.batches()) if (hasOutput(batch)) break;
  } catch {
    // The answer reports the failure.
  }
  return openai.faceOf(face, turn.turn, agent.memory);
}

/**
 * Returns the number of the last event that the client has seen. Returns `undefined` if that event
 * belongs to another run.
 */
function seqIn(lastEventId: string | undefined, runId: string): number | undefined {
  const [run, seq] = lastEventId?.split(':') ?? [];
  return run === runId.slice(-8) && /^\d{1,15}$/.test(seq ?? '') ? Number(seq) : undefined;
}
