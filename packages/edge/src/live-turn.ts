import { AgentError, toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { AgentEvent, AgentStream, EventBatch, Msg, ReActAgent } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import type { UiChunk } from '@isoloop/core/ai-sdk';
import { batchesAfter } from './batches-after.ts';
import { isQuestion } from './chat-turn.ts';
import { awaitOpening, eventStream, eventStreamHeaders, hasBegun } from './event-stream.ts';
import type { HandlerSettings } from './handler-options.ts';
import type { QueuedTurn } from './turn-queue.ts';

/** A turn that runs, for any number of readers. */
export interface LiveTurn {
  readonly turn: QueuedTurn;
  readonly agent: ReActAgent;
  /** Detached: it goes on without readers, and keeps what it said. */
  readonly stream: AgentStream;
  /** What the log had of the answer before this run went on with it. */
  readonly before: readonly Msg[];
}

export interface LiveResponseOptions {
  readonly events: boolean;
  readonly settings: HandlerSettings;
  /** The reader has not just posted the turn: it gets the whole answer, or what came after the event that it has seen last. */
  readonly replay?: { readonly lastEventId?: string | undefined };
}

type Encode = (batch: EventBatch) => readonly UiChunk[];

/**
 * A turn as AI SDK's UI message stream; one that waits for its turn begins with silence. What came at once ends in an id,
 * `<run>:<event>`, which a reader comes back with as `Last-Event-ID`.
 */
export async function liveResponse(given: LiveTurn | Promise<LiveTurn>, options: LiveResponseOptions): Promise<Response> {
  const waits = given instanceof Promise;
  let encode: Encode = (batch) => createUiMessageEncoder().encode(batch);
  const read = async function* (): AsyncGenerator<EventBatch> {
    let live: LiveTurn;
    try {
      live = await given;
    } catch (error) {
      return yield [failure(error)];
    }
    encode = encoderFor(live, options);
    const { stream, agent } = live;
    const after = seqIn(options.replay?.lastEventId, stream.runId);
    yield* after ? batchesAfter(agent, { runId: stream.runId, after, prime: encode }) : stream.batches();
  };
  const batches = read();
  return new Response(
    eventStream({
      // Who comes back may have seen all there is.
      batches: waits || options.replay ? batches : await awaitOpening(batches, hasBegun),
      encode: (batch) => encode(batch),
      place: (batch) => `${batch.at(-1)!.runId}:${batch.at(-1)!.seq}`,
      keepAliveMs: options.settings.limits.keepAliveMs,
      // Others may read on, and without any the turn goes on as well.
      onCancel: () => {},
    }),
    { headers: { ...eventStreamHeaders, 'x-vercel-ai-ui-message-stream': 'v1' } },
  );
}

/** What answers the last user message so far. */
export function answerSoFar(messages: readonly Msg[]): readonly Msg[] {
  return messages.slice(messages.findLastIndex(isQuestion) + 1);
}

function encoderFor({ turn, stream, before }: LiveTurn, { events, replay }: LiveResponseOptions): Encode {
  const encoder = createUiMessageEncoder({ events, messageId: turn.messageId });
  const isWhole = replay && !seqIn(replay.lastEventId, stream.runId);
  if (!isWhole || !before.length) return (batch) => encoder.encode(batch);
  return (batch) => {
    const start = batch.findIndex(({ type, agentPath }) => type === 'run-start' && agentPath.length < 2) + 1;
    if (!start) return encoder.encode(batch);
    const earlier = encoder.encode(toEvents(before)).filter(({ type }) => type !== 'data-isoloop-event');
    return [...encoder.encode(batch.slice(0, start)), ...earlier, ...encoder.encode(batch.slice(start))];
  };
}

/** What the log has of an answer, as it was told when it came. */
function toEvents(messages: readonly Msg[]): EventBatch {
  const toolUses = new Map(messages.flatMap(toolUsesOf).map((toolUse) => [toolUse.id, toolUse]));
  return messages.flatMap((message) => {
    if (message.metadata?.['correction']) return [];
    const results = toolResultsOf(message).flatMap((result) => {
      const toolUse = toolUses.get(result.toolUseId);
      return toolUse ? [eventOf({ type: 'post-acting', toolUse, result })] : [];
    });
    if (message.role !== 'assistant') return results;
    const said = message.content.flatMap((block, index) => {
      const kind = block.type === 'thinking' ? 'thinking' : 'text';
      const delta = block.type === 'thinking' ? block.thinking : block.type === 'text' ? block.text : '';
      return delta ? [eventOf({ type: 'reasoning-chunk', kind, blockId: `${message.id}:${index}`, delta })] : [];
    });
    const asked = { messages: [], tools: [], options: {} };
    return [eventOf({ type: 'pre-reasoning', ...asked }), ...said, eventOf({ type: 'post-reasoning', message })];
  });
}

/** What a queued turn that could not begin says. */
function failure(thrown: unknown): AgentEvent {
  return eventOf({ type: 'error', error: AgentError.from(thrown).toJSON() });
}

function eventOf(fields: object): AgentEvent {
  return { runId: '', sessionId: '', agentPath: [''], seq: 0, iteration: 0, at: 0, ...fields } as unknown as AgentEvent;
}

/** The number of the run's event that a reader has seen last; nothing where it was another run's. */
function seqIn(lastEventId: string | undefined, runId: string): number | undefined {
  const [run, seq] = lastEventId?.split(':') ?? [];
  return run === runId && /^\d{1,15}$/.test(seq ?? '') ? Number(seq) : undefined;
}
