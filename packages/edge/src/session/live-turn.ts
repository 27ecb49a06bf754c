import { AgentError } from '@isoloop/core';
import type { AgentStream, EventBatch, Msg, ReActAgent } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import { eventOf, toEvents } from '../turn/answer-so-far.ts';
import { batchesAfter } from '../turn/batches-after.ts';
import type { CompletionCall } from '../completions/completion-call.ts';
import { completionEncoder, wholeCompletion } from '../completions/completion-answer.ts';
import {
  awaitOpening,
  eventStream,
  eventStreamHeaders,
  uiStreamHeaders,
} from '../turn/event-stream.ts';
import type { HandlerSettings } from '../handler-options.ts';
import { toPublicEvents } from '../turn/public-events.ts';
import { opens, type TurnFace } from './turn-face.ts';
import type { QueuedTurn } from './turn-queue.ts';

/** A running turn with any number of readers. */
export interface LiveTurn {
  readonly turn: QueuedTurn;
  readonly agent: ReActAgent;
  /** The detached stream: it continues without readers, and keeps its events. */
  readonly stream: AgentStream;
  /** Set if a chat-completions request asked for the turn. */
  readonly call?: CompletionCall | undefined;
  /** The part of the answer that was in the log before this run resumed the turn. */
  readonly before: readonly Msg[];
}

export interface LiveResponseOptions {
  readonly face: TurnFace;
  readonly settings: Pick<HandlerSettings, 'limits'>;
  /**
   * Set if the reader did not just post the turn. It gets the whole answer, or the events after the
   * last one it has seen.
   */
  readonly replay?: { readonly lastEventId?: string | undefined };
}

type Encode = (batch: EventBatch) => readonly object[];

/**
 * Answers with a turn in the reader's format. The stream of a queued turn begins with silence.
 * Except for a completion, each chunk ends with an id, `<run>:<event>`. A returning reader sends it
 * as `Last-Event-ID`.
 */
export async function liveResponse(
  given: LiveTurn | Promise<LiveTurn>,
  options: LiveResponseOptions,
): Promise<Response> {
  const { face, replay, settings } = options;
  if (face.kind === 'completion' && !face.stream)
    return wholeCompletion(await (await given).stream.result, face.completion);
  const waits = given instanceof Promise;
  let live: LiveTurn | undefined;
  let encode: Encode = () => [];
  const read = async function* (): AsyncGenerator<EventBatch> {
    try {
      live = await given;
    } catch (error) {
      encode = encoderOf(undefined, options);
      // The queued turn could not begin.
      return yield [eventOf({ type: 'error', error: AgentError.from(error).toJSON() })];
    }
    encode = encoderOf(live, options);
    const { stream, agent } = live;
    const after = seqIn(replay?.lastEventId, stream.runId);
    yield* after
      ? batchesAfter(agent, { runId: stream.runId, after, prime: encode })
      : stream.batches();
  };
  const batches = read();
  return new Response(
    eventStream({
      // A returning reader may have seen all events.
      batches:
        waits || replay ? batches : await awaitOpening(batches, (batch) => opens(face, batch)),
      encode: (batch) => encode(batch),
      // Events of agents called as tools have another run's id, but this run's numbering.
      place: (batch) =>
        live && face.kind !== 'completion'
          ? `${live.stream.runId}:${batch.at(-1)!.seq}`
          : undefined,
      keepAliveMs: settings.limits.keepAliveMs,
      // Other readers may remain, and the turn continues even without readers.
      onCancel: () => {},
    }),
    { headers: face.kind === 'ui' ? uiStreamHeaders : eventStreamHeaders },
  );
}

function encoderOf(live: LiveTurn | undefined, { face, replay }: LiveResponseOptions): Encode {
  if (face.kind === 'events') return (batch) => toPublicEvents(batch);
  if (face.kind === 'completion') {
    return completionEncoder({
      ...face.completion,
      ...(live?.call && { isExternal: live.call.isExternal }),
    });
  }
  const encoder = createUiMessageEncoder({
    events: face.events,
    ...(live && { messageId: live.turn.messageId }),
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
 * Returns the number of the run's last event that the reader has seen. Returns `undefined` if that
 * event is of another run.
 */
function seqIn(lastEventId: string | undefined, runId: string): number | undefined {
  const [run, seq] = lastEventId?.split(':') ?? [];
  return run === runId && /^\d{1,15}$/.test(seq ?? '') ? Number(seq) : undefined;
}
