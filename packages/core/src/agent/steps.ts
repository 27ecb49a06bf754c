import type { AgentErrorData } from '../error/agent-error.ts';
import type { EventData, EventType } from '../event/agent-event.ts';
import type { ModifiableEvent } from '../event/hook.ts';
import type { LogNote } from '../memory/log/log-record.ts';
import type { ToolResult, ToolUse, Msg, Role, MessageContent } from '../message/msg.ts';
import type { JsonObject } from '../message/json.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { ParsedInput } from '../event/agent-input.ts';
import type { InboxHandler } from './run/inbox.ts';
import { endStopped } from './step/finish.ts';
import type { Ending, Next, CustomReason } from './next.ts';
import { readReply, type AskResult, type ToEvent } from './step/read-reply.ts';
import { wrappedResult } from '../tool/tool-call.ts';
import { markHandled } from '../wait/mark-handled.ts';
import { closeCall } from './step/close-calls.ts';
import type { RunContext } from './run-context.ts';
import type { Run } from './run/run.ts';
import { edit, note, type LogEdit } from './run/run-log.ts';
import { revise, type RevisedEvent } from './step/jump.ts';
import { afterReply } from './step/reason.ts';
import { admitInput } from './step/settle.ts';

/** Events that hooks only observe. */
type ObservedEvent = Exclude<EventType, ModifiableEvent | 'run-start' | 'run-end' | 'error'>;

/**
 * What a wrapper may do to the run. What hooks may do, too, is in `RunContext`. After the end of
 * the run, everything here throws `ABORTED`.
 */
export interface Steps {
  /**
   * Changes the conversation, in the log and in later model requests. Removes and appends in one
   * write if the memory can.
   */
  edit(change: LogEdit): Promise<void>;
  /**
   * Adds messages to all later model requests of this run. They are not stored. `first` (default)
   * places them between system prompt and conversation, before those of earlier calls. `last`: at
   * the end of the conversation so far.
   */
  include(messages: readonly Msg[], position?: 'first' | 'last'): void;
  /**
   * Creates a message with the run's clock and ids. A user message has the origin `program`,
   * because no speaker wrote it.
   */
  message(
    role: Role,
    content: MessageContent,
    options?: { readonly id?: string; readonly metadata?: JsonObject },
  ): Msg;
  /**
   * Sends one extra model request. It does not count as an iteration, and its messages are not
   * stored. Readers get nothing of the reply, unless `toEvent` returns an event for a piece of it.
   * An abort then stores the reply, as readers have it. The request passes the `wrapModel` of all
   * middleware, so ask `next` instead in a `wrapModel`.
   */
  ask(request: ModelRequest, toEvent?: ToEvent): Promise<AskResult>;
  /** Passes a message that no model wrote through `wrapReply`, as if it were a reply. */
  reply(message: Msg, reason: CustomReason): Promise<Next>;
  /** Passes more input through `wrapInput`. */
  admit(input: ParsedInput): Promise<ParsedInput>;
  /** Adds notes about tool calls to the log. With `write`, stores them before it resolves. */
  note(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void>;
  /** Ends an open tool call with this result, after the `post-acting` hooks. */
  closeCall(toolUse: ToolUse, result: ToolResult): Promise<void>;
  /**
   * Sends an event to the hooks, then to the readers. With `to: 'readers'`, leaves out the hooks.
   * Only then it may be an event with controls, because the loop would not carry out what hooks ask
   * for.
   */
  emit<K extends ObservedEvent>(type: K, data: EventData<K>): Promise<void>;
  emit<K extends EventType>(
    type: K,
    data: EventData<K>,
    options: { readonly to: 'readers' },
  ): Promise<void>;
  /**
   * Passes an event through the hooks, then to the readers, and carries out what the hooks ask for.
   * If the hooks change its message, readers get a `step-reset` with the new message first. Hooks
   * at `pre-call` and `pre-acting` may reject what only the loop can reject, so only the loop sends
   * these.
   */
  revise<K extends Exclude<ModifiableEvent, 'pre-call' | 'pre-acting'>>(
    type: K,
    data: EventData<K>,
  ): Promise<RevisedEvent<K>>;
  /** Waits for code that may never settle. Rejects with the signal's reason after an abort. */
  wait<T>(work: T | PromiseLike<T>): Promise<T>;
  /** Returns the value of `work`, whose time does not count toward `limits.timeoutMs`. */
  untimed<T>(work: () => Promise<T>): Promise<T>;
  /** Ends the run at its next interrupt point as suspended. Its open tool calls stay open. */
  suspend(): void;
  /**
   * Returns the end of a run that was interrupted, paused or aborted. Stores `partial`, the part of
   * a reply that readers have.
   */
  endStopped(partial?: Msg): Promise<Ending>;
  /** Lets middleware handle what others ask of this run, until the run has its ending. */
  handleInbox(handler: InboxHandler): void;
  /**
   * Runs `work` before the log gets the end of the run. If it fails, the agent call fails. After
   * `next` of `wrapRun`, the log has the end, so `work` does not run.
   */
  beforeEnd(work: (context: RunContext) => Promise<void>): void;
  /**
   * Adds to the result of the agent call. `warning`: an error after which the run continues.
   * `failureMessage`: the message of the result in case the agent call fails later. The first one
   * counts.
   */
  addToResult(more: { readonly warning?: AgentErrorData; readonly failureMessage?: Msg }): void;
}

/** Returns the steps of a run. */
export function stepsOf(run: Run): Steps {
  // The wrapper that takes a step must not end before the step. It may do other work meanwhile.
  const step = <T>(work: () => Promise<T>): Promise<T> => markHandled(run.waits.duringStep(work));
  const wait = async <T>(work: T | PromiseLike<T>): Promise<T> => run.alive().waits.forCode(work);
  const untimed = async <T>(work: () => Promise<T>): Promise<T> =>
    run.alive().timeout.untimed(work);
  return {
    edit: (change) => step(() => edit(run, change)),
    include: (messages, position) => {
      const { conversation, prepended } = run.alive();
      if (position === 'last') conversation.add(messages);
      else prepended.unshift(...messages);
    },
    message: (...args) => run.alive().message(...args),
    ask: (request, toEvent = () => {}) => step(() => readReply(run, request, toEvent)),
    reply: (message, reason) => step(() => afterReply(run, { message, reason })),
    admit: (input) => step(() => admitInput(run, input)),
    note: (notes, options) => step(() => note(run, notes, options)),
    closeCall: (toolUse, result) =>
      step(() => closeCall(run, toolUse, wrappedResult(toolUse, result))),
    emit: <K extends EventType>(type: K, data: EventData<K>, options?: { readonly to?: string }) =>
      step(async () =>
        options?.to === 'readers'
          ? run.outbox.tellReaders([run.outbox.event(type, data)])
          : run.outbox.emit(type, data),
      ),
    revise: (type, data) => step(() => revise(run, type, data)),
    wait: (work) => markHandled(wait(work)),
    untimed: (work) => markHandled(untimed(work)),
    suspend: () => run.alive().stopWith({ kind: 'suspended' }),
    endStopped: (partial) => step(() => endStopped(run, partial)),
    handleInbox: (handler) => run.alive().inbox.add(handler),
    beforeEnd: (work) => void run.alive().progress.beforeEnd.push(work),
    addToResult: ({ warning, failureMessage }) => {
      run.alive().failureMessage ??= failureMessage;
      if (warning) run.warnings.push(warning);
    },
  };
}
