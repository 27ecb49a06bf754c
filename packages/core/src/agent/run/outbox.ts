import { AgentError } from '../../error/agent-error.ts';
import type {
  AgentEvent,
  AgentEventBase,
  EventBatch,
  EventData,
  EventOf,
  EventType,
} from '../../event/agent-event.ts';
import type { StopEvent } from '../../event/agent-result.ts';
import type { HookDispatcher } from '../../event/hook-dispatcher.ts';
import type { Awaitable, Jump } from '../../event/hook.ts';
import type { OnControl } from '../../event/hook-controls.ts';
import { withMetadata } from '../../message/metadata.ts';
import { textOf, type Msg } from '../../message/msg.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import type { Halt } from '../../wait/halt.ts';
import type { EventMapper } from './event-mapper.ts';
import type { LoggedConversation } from './logged-conversation.ts';
import type { RunClock } from './run-clock.ts';
import type { RunTotals } from './run-totals.ts';

/** Sends events to the readers. Returns a promise if the run has to wait for its reader. */
export type SendEvents = (events: EventBatch) => Promise<void> | undefined;

/** What hooks ask for at one or more events: the first `stop`, or else the first jump. */
export interface JumpRequest {
  jump?: Jump;
}

/** The parts of a run that its events need. */
interface OutboxParts {
  readonly info: RunInfo;
  readonly totals: RunTotals;
  readonly clock: RunClock;
  readonly log: LoggedConversation;
  readonly halt: Halt;
  readonly hooks: HookDispatcher;
  readonly mapper: EventMapper;
}

/** Creates the events of one run, passes them to the hooks, and sends them to the readers. */
export class Outbox {
  readonly #parts: OutboxParts;
  #seq = 0;
  /** Sequence number of the last event that was sent to the readers. */
  #sentSeq = 0;
  /** The last message that readers have. The log may not have it yet. */
  #shownReply: Msg | undefined;

  /** Passes events to the readers, from the begin of the run on. */
  deliver!: SendEvents;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  event<K extends EventType>(type: K, data: EventData<K>): EventOf<K> {
    return this.stamp({ type, ...data }, this.#parts.clock.now()) as unknown as EventOf<K>;
  }

  /** Adds the fields of `AgentEventBase`, in place. A copy of each delta would be slow. */
  stamp<F extends object>(fields: F, at: number): F & AgentEventBase {
    const event = fields as F & { -readonly [K in keyof AgentEventBase]: AgentEventBase[K] };
    const { info, totals } = this.#parts;
    const { runId, sessionId, userId, agentPath } = info;
    event.runId = runId;
    event.sessionId = sessionId;
    if (userId) event.userId = userId;
    event.agentPath = agentPath;
    event.seq = ++this.#seq;
    event.iteration = totals.iteration;
    event.at = at;
    return event;
  }

  /** Tells the hooks about an event, then the readers. */
  async emit<K extends EventType>(type: K, data: EventData<K>): Promise<void> {
    const event: AgentEvent = this.event(type, data);
    if (event.type === 'step-reset') this.#shownReply = event.replacement;
    const telling = this.tellHooks(event);
    if (telling instanceof Promise) await telling;
    await this.tellReaders([event]);
  }

  /** Passes an event to the hooks, which cannot change it. Without hooks, returns no promise. */
  tellHooks<K extends EventType>(event: EventOf<K>): Awaitable<EventOf<K>> {
    const { hooks } = this.#parts;
    if (!hooks.handlers(event.type).length) return event;
    return hooks.tell<K>(event, this.#onControlAt(event.type, {}));
  }

  /**
   * Passes a modifiable event through the hooks and returns the event that they return. `request`
   * gets what they ask for. `renew` completes each event that a hook returns. `reject`: default:
   * ends the agent call.
   */
  askHooks<K extends EventType>(
    type: K,
    data: EventData<K>,
    request: JumpRequest,
    renew?: (event: EventOf<K>) => Promise<EventOf<K>>,
    reject?: (reason?: string) => void,
  ): Awaitable<EventOf<K>> {
    const onControl = this.#onControlAt(type, request, reject);
    return this.#parts.hooks.ask<K>(this.event(type, data), onControl, renew);
  }

  /** Returns what all controls do. The dispatcher refuses those that the event does not offer. */
  #onControlAt(
    type: EventType,
    request: JumpRequest,
    reject?: (reason?: string) => void,
  ): OnControl | undefined {
    // Without hooks, an event costs no closures.
    if (!this.#parts.hooks.handlers(type).length) return undefined;
    const at = type as StopEvent;
    const ask = (jump: Jump): void => {
      if (!request.jump || (jump.to === 'stop' && request.jump.to !== 'stop')) request.jump = jump;
    };
    return ({ name, args, hook }) => {
      switch (name) {
        case 'stop':
          return ask({ at, to: 'stop' });
        case 'jumpTo':
          return ask({ at, to: args[0], messages: args[1], reason: args[2], hook });
        case 'reject':
          if (reject) return reject(args[0]);
          this.#parts.halt.haltWith(
            new AgentError('HOOK_REJECTED', args[0] ?? 'A hook rejected the call.'),
          );
          // The later hooks of this event have nothing more to judge.
          return true;
      }
    };
  }

  /** Sends the text of a message that no model streams to the readers. */
  sendText(message: Msg): Promise<void> {
    this.noteShown(message);
    const blockId = `${message.id}:0`;
    return this.emit('reasoning-chunk', { blockId, kind: 'text', delta: textOf(message) });
  }

  /** Notes that readers have a reply, so that an abort stores it. */
  noteShown(reply: Msg): void {
    this.#shownReply = reply;
  }

  /** Returns the reply that readers have and the log has not, without its tool calls. */
  unstoredReply(): Msg | undefined {
    const reply = this.#shownReply;
    if (!reply || this.#parts.log.conversation.has(reply.id)) return undefined;
    const content = reply.content.filter(({ type }) => type !== 'tool_use');
    if (!content.length) return undefined;
    return withMetadata({ ...reply, content }, { partial: 'aborted' });
  }

  /**
   * Sends one or more events of this run or of a child run to the readers, after the `mapEvent` of
   * all middleware. Returns a promise if the run has to wait for its reader.
   */
  tellReaders(events: EventBatch): Promise<void> | undefined {
    return this.#send(this.#parts.mapper.map(events));
  }

  /**
   * Tells hooks and readers about one of the last events. Returns the event that readers see.
   * `isFailure`: a hook or `mapEvent` that fails must not hide the failure that the event reports.
   */
  async tellLast(event: AgentEvent, isFailure: boolean): Promise<AgentEvent> {
    let readersEvent = event;
    try {
      await this.tellHooks(event);
    } catch (error) {
      if (!isFailure) throw error;
    }
    try {
      readersEvent = this.#parts.mapper.map([event])[0]!;
    } catch (error) {
      if (!isFailure) throw error;
    }
    await this.#send([readersEvent]);
    return readersEvent;
  }

  /**
   * Each event got its number before its hooks ran. Meanwhile another tool call may have sent an
   * event with a higher number. Readers skip numbers lower than the last one that they have seen,
   * so the events then get new numbers. Events of a child run always do.
   */
  #send(events: EventBatch): Promise<void> | undefined {
    const { seq, runId } = events[0]!;
    const isInOrder = seq > this.#sentSeq && runId === this.#parts.info.runId;
    const sent = isInOrder ? events : events.map((event) => ({ ...event, seq: ++this.#seq }));
    this.#sentSeq = sent.at(-1)!.seq;
    const depth = this.#parts.info.agentPath.length - 1;
    return this.deliver(depth ? sent.map((event) => fromOwnAgent(event, depth)) : sent);
  }
}

/**
 * Returns the event for the readers of a child agent: its path begins with the child. The calling
 * agent adds the names above.
 */
function fromOwnAgent(event: AgentEvent, depth: number): AgentEvent {
  return { ...event, agentPath: event.agentPath.slice(depth) };
}
