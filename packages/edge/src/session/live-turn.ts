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

/** A turn that runs, for any number of readers. */
export interface LiveTurn {
  readonly turn: QueuedTurn;
  readonly agent: ReActAgent;
  /** Detached: it goes on without readers, and keeps what it said. */
  readonly stream: AgentStream;
  /** Of one that a completion asked for. */
  readonly call?: CompletionCall | undefined;
  /** What the log had of the answer before this run went on with it. */
  readonly before: readonly Msg[];
}

export interface LiveResponseOptions {
  readonly face: TurnFace;
  readonly settings: Pick<HandlerSettings, 'limits'>;
  /**
   * The reader has not just posted the turn: it gets the whole answer, or what came after the event
   * that it has seen last.
   */
  readonly replay?: { readonly lastEventId?: string | undefined };
}

type Encode = (batch: EventBatch) => readonly object[];

/**
 * A turn as its reader wants it; a stream of one that waits for its turn begins with silence. What
 * came at once ends in an id, `<run>:<event>`, which a reader comes back with as `Last-Event-ID`.
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
      // A queued turn that could not begin.
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
      // Who comes back may have seen all there is.
      batches:
        waits || replay ? batches : await awaitOpening(batches, (batch) => opens(face, batch)),
      encode: (batch) => encode(batch),
      // Events of agents that are called as tools have another run's name, and this one's number.
      place: (batch) =>
        live && face.kind !== 'completion'
          ? `${live.stream.runId}:${batch.at(-1)!.seq}`
          : undefined,
      keepAliveMs: settings.limits.keepAliveMs,
      // Others may read on, and without any the turn goes on as well.
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
 * The number of the run's event that a reader has seen last; nothing where it was another run's.
 */
function seqIn(lastEventId: string | undefined, runId: string): number | undefined {
  const [run, seq] = lastEventId?.split(':') ?? [];
  return run === runId && /^\d{1,15}$/.test(seq ?? '') ? Number(seq) : undefined;
}
