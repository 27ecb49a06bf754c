import type { AgentStream, EventBatch } from '@isoloop/core';
import type { LeaderLog } from '../log/leader-log.ts';
import type { NotedRun } from '../log/noted-run.ts';
import type { Asker, MessageStart } from '../../wire/protocol.ts';
import type { ActiveRun } from './active-run.ts';
import type { RunReaders } from './run-readers.ts';

/** Data that a leader needs to forward a run. */
export interface RunForwarding {
  /** Id of the request for the run. */
  readonly requestId: string;
  readonly controller: AbortController;
  readonly start: MessageStart;
  /** Number of times that a tab has continued the run. */
  readonly attempts: number;
  /** Gap between the sequence numbers (`seq`) of the run's earlier events and its new events. */
  readonly gap: number;
  /** Name of the output that the run returns, if any. */
  readonly outputName: string | undefined;
  /** Page that asked for the run, if it is known. */
  readonly asker: Asker | undefined;
  /** Called when the run has started. */
  readonly onStart?: () => void;
  /** Called when the readers have received the first events. */
  readonly onShown?: () => void;
}

/** What a forwarded run uses of its leader. */
interface RunLeader {
  readonly log: Pick<LeaderLog, 'ended'>;
  /** Whether the leader has stopped leading. */
  readonly isOver: boolean;
  /** Stops leading if these events say that another worker has become the writer of the log. */
  checkWriter(events: EventBatch): void;
  /** Stores the data about a run that begins. */
  noteRun(run: NotedRun): Promise<void>;
  /** Passes events to the readers of all tabs. */
  showEvents(events: EventBatch, requestId: string, start?: MessageStart): void;
}

interface ForwardedRunOptions extends RunForwarding {
  readonly stream: AgentStream;
  readonly leader: RunLeader;
  readonly readers: RunReaders;
}

/** A run of the leader. Its events go to the readers of all tabs. */
export class ForwardedRun {
  /** Data about the run for the log. */
  readonly note: NotedRun;
  readonly #options: ForwardedRunOptions;
  /** Number to add to the `seq` of each event. */
  readonly #offset: number;
  /** Whether the run has given a batch of events. */
  #hasBegun = false;

  constructor(options: ForwardedRunOptions) {
    const { requestId, stream, leader, readers, attempts, outputName, asker, gap } = options;
    const earlierRuns = leader.log.ended.runs;
    this.note = { requestId, runId: stream.runId, attempts, outputName, asker, earlierRuns };
    this.#options = options;
    this.#offset = offsetOf(readers.activeRun, requestId, gap);
  }

  /** Shows all events of the run, at the speed of its readers. */
  async show(): Promise<void> {
    const { stream, onStart } = this.#options;
    const batches = stream.batches()[Symbol.asyncIterator]();
    const firstRead = batches.next();
    // The first read starts the run.
    onStart?.();
    for (let read = await firstRead; !read.done; read = await batches.next())
      await this.#handle(read.value);
  }

  async #handle(batch: EventBatch): Promise<void> {
    const { leader } = this.#options;
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    leader.checkWriter(batch);
    if (leader.isOver) return;
    if (isFirst && batch[0]?.type === 'run-start') await leader.noteRun(this.note);
    this.#showBatch(batch, isFirst);
    await this.#waitForReaders();
  }

  #showBatch(batch: EventBatch, isFirst: boolean): void {
    const { leader, requestId, start, onShown } = this.#options;
    leader.showEvents(withOffset(batch, this.#offset), requestId, isFirst ? start : undefined);
    onShown?.();
  }

  async #waitForReaders(): Promise<void> {
    const { readers, requestId, controller } = this.#options;
    await readers.whenReady(requestId, controller.signal);
  }
}

/** Returns what to add to the `seq` of a run's events, so that they follow those already shown. */
function offsetOf({ requestId, lastEvent }: ActiveRun, ownRequestId: string, gap: number): number {
  return lastEvent && requestId === ownRequestId ? lastEvent.seq + gap : 0;
}

function withOffset(events: EventBatch, offset: number): EventBatch {
  return offset ? events.map((event) => ({ ...event, seq: event.seq + offset })) : events;
}
