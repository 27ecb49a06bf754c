import type { AgentErrorData } from '../error/agent-error.ts';
import type { AgentEvent, EventOf } from '../event/agent-event.ts';
import { replaceMessage, rewriteMessages } from '../memory/memory.ts';
import type { RunNote } from '../memory/log/log-record.ts';
import type { ContentBlock, ToolResult, ToolUse } from '../message/content-block.ts';
import type { JsonObject } from '../message/json/json.ts';
import type { Msg, Role } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { CallInput } from '../event/call-input.ts';
import type { Taker } from './run/inbox.ts';
import type { Interruption } from './run/interruption.ts';
import { endStopped } from './step/finish.ts';
import { controlOf, firstOf, type Ending, type Jump, type Next, type ToldReason } from './next.ts';
import { readReply, type ModelReply, type ToEvent } from './step/read-reply.ts';
import { conclude } from './step/conclude.ts';
import type { RunContext } from './run-context.ts';
import type { Revisable } from './run/outbox.ts';
import type { Run } from './run/run.ts';
import { runWrapped } from './run/wrapped-step.ts';
import { innerReply } from './loop.ts';
import { admit } from './step/settle.ts';

type EventType = AgentEvent['type'];

/** Fields of an event that the sender sets. The run sets the other fields. */
export type EventFields<K extends EventType> = Omit<
  EventOf<K>,
  'type' | 'runId' | 'sessionId' | 'seq' | 'iteration' | 'agentPath' | 'at'
>;

/** What a wrapper may do to the run. After the end of the run, everything here throws `ABORTED`. */
export interface Steps {
  /**
   * Appends messages to the log and to later model requests. `stored: false`: only to later model
   * requests of this run.
   */
  append(messages: readonly Msg[], options?: { readonly stored?: boolean }): Promise<void>;
  /**
   * Places messages between system prompt and conversation in all later model requests of this run,
   * before those of earlier calls of `prepend`. They are not stored.
   */
  prepend(messages: readonly Msg[]): void;
  /** Replaces the message that has the same id. */
  replace(message: Msg): Promise<void>;
  /** Removes messages from the log and appends others, in one write if the memory can. */
  rewrite(gone: readonly string[], messages: readonly Msg[]): Promise<void>;
  /** Adds notes to the log. With `now`, stores them before the promise resolves. */
  note(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
  /** Ends an open tool call with this result, after the `post-acting` hooks. */
  conclude(toolUse: ToolUse, result: ToolResult): Promise<void>;
  /** Sends an event to the hooks, then to the readers. `to: 'readers'` leaves out the hooks. */
  emit<K extends EventType>(
    type: K,
    fields: EventFields<K>,
    options?: { readonly to?: 'readers' },
  ): Promise<void>;
  /**
   * Passes a modifiable event through the hooks, then to the readers. `next`: what a hook asked for
   * with `stop`.
   */
  modify<K extends 'pre-summary'>(
    type: K,
    fields: EventFields<K>,
  ): Promise<{ readonly event: EventOf<K>; readonly next: Next | undefined }>;
  /**
   * Passes a message through the hooks and returns the message that they return. If the hooks
   * change the message, readers get a `step-reset` with the new message first.
   */
  revise(type: Revisable, message: Msg): Promise<Msg>;
  /**
   * Sends one extra model request. It does not count as an iteration, and its messages are not
   * stored. `toEvent` returns the event for each piece of the reply.
   */
  ask(request: ModelRequest, toEvent: ToEvent): Promise<ModelReply>;
  /** Passes a message that no model wrote through `wrapReply`, as if it were a reply. */
  reply(message: Msg, reason: ToldReason): Promise<Next>;
  /**
   * Ends a run that was interrupted or aborted. Stores `partial`, the part of a reply that readers
   * have.
   */
  endStopped(partial?: Msg): Promise<Ending>;
  /** Passes more input through `wrapInput`. */
  admit(input: CallInput): Promise<CallInput>;
  /** Waits for code that may never settle. Rejects with the signal's reason after an abort. */
  wait<T>(work: T | PromiseLike<T>): Promise<T>;
  /** Returns the value of `work`, whose time does not count toward the time limit of the call. */
  untimed<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Creates a message with the run's clock and ids. A user message is marked as the library's own,
   * because no speaker wrote it.
   */
  message(
    role: Role,
    content: string | readonly ContentBlock[],
    options?: { readonly id?: string; readonly metadata?: JsonObject },
  ): Msg;
  /** Sets the message of the result for the case that the agent call fails later. */
  setFailureMessage(message: Msg): void;
  /** Adds an error after which the run continues to `warnings` of the result. */
  warn(error: AgentErrorData): void;
  /** Ends the run in this way at its next interrupt point. */
  stopWith(by: Interruption): void;
  /** Lets middleware handle what others ask of this run, until the run has its ending. */
  onRequest(taker: Taker): void;
  /** Runs `work` before the log gets the end of the run. */
  beforeEnd(work: (context: RunContext) => Promise<void>): void;
}

/** Returns the steps of a run. */
export function stepsOf(run: Run): Steps {
  // The wrapper that takes a step must not end before the step.
  const step = async <T>(work: () => Promise<T>): Promise<T> => run.alive().waits.inner(work);
  return {
    append: (messages, options) => step(() => append(run, messages, options)),
    prepend: (messages) => void run.alive().prepended.unshift(...messages),
    replace: (message) => step(() => replace(run, message)),
    rewrite: (gone, messages) => step(() => rewrite(run, gone, messages)),
    note: (notes, options) => step(() => run.note(notes, options)),
    conclude: (toolUse, result) => step(() => conclude(run, toolUse, result)),
    emit: (type, fields, { to } = {}) =>
      step(() =>
        to ? run.outbox.push([run.outbox.event(type, fields)]) : run.outbox.tell(type, fields),
      ),
    modify: (type, fields) => step(() => modify(run, type, fields)),
    revise: (type, message) => step(() => run.outbox.revise(type, message)),
    ask: (request, toEvent) => step(() => readReply(run, request, toEvent)),
    reply: (message, reason) =>
      step(() => runWrapped(run, 'wrapReply', { message, reason }, innerReply)),
    endStopped: (partial) => step(() => endStopped(run, partial)),
    admit: (input) => step(() => admit(run, input)),
    wait: (work) => run.waits.code(work),
    untimed: async (work) => run.alive().timeout.untimed(work),
    message: (...given) => run.message(...given),
    setFailureMessage: (message) => void (run.alive().failureMessage = message),
    warn: (error) => void run.alive().warnings.push(error),
    stopWith: (by) => run.alive().stopWith(by),
    onRequest: (taker) => run.alive().inbox.open(taker),
    beforeEnd: (work) => void run.alive().lastWork.push(work),
  };
}

async function append(
  run: Run,
  messages: readonly Msg[],
  { stored = true }: { readonly stored?: boolean } = {},
): Promise<void> {
  if (stored) await run.append(messages);
  else run.conversation.add(messages);
}

async function modify<K extends 'pre-summary'>(
  run: Run,
  type: K,
  fields: EventFields<K>,
): Promise<{ readonly event: EventOf<K>; readonly next: Next | undefined }> {
  const asked: Jump[] = [];
  const { stop } = controlOf(asked, type);
  const event = await run.outbox.modify(type, fields, { stop } as never);
  await run.outbox.push([event as AgentEvent]);
  const at = firstOf(asked)?.at;
  return { event, next: at && { kind: 'stopped', reason: 'stopped-by-hook', stoppedAt: at } };
}

/**
 * Replaces a message in the conversation, then in the log. The conversation comes first, because
 * another change of the same message may run at the same time.
 */
async function replace(run: Run, message: Msg): Promise<void> {
  run.conversation.replace(run.messages.map((one) => (one.id === message.id ? message : one)));
  await run.write(replaceMessage(run.setup.memory, message));
}

async function rewrite(run: Run, gone: readonly string[], messages: readonly Msg[]): Promise<void> {
  await run.write(rewriteMessages(run.setup.memory, gone, messages));
  const left = run.messages.filter(({ id }) => !gone.includes(id));
  run.conversation.replace([...left, ...messages]);
}
