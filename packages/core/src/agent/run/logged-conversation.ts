import type { LogNote } from '../../memory/log/log-record.ts';
import { replaceMessage, rewriteMessages, type WriteOptions } from '../../memory/memory.ts';
import type { JsonValue } from '../../message/json.ts';
import type { ReplySlot } from '../../model/chat-model.ts';
import { withMetadata } from '../../message/metadata.ts';
import type { Msg } from '../../message/msg.ts';
import { Conversation } from '../../message/conversation/conversation.ts';
import type { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';
import type { Halt } from '../../wait/halt.ts';
import type { CallStates } from './call-states.ts';
import type { RunSetup } from './run-setup.ts';

/** A change of the conversation. Messages are replaced first, and appended last. */
export interface LogEdit {
  /** Ids of the messages to remove. */
  readonly remove?: readonly string[];
  /** Messages that take the places of those with the same ids. */
  readonly replace?: readonly Msg[];
  readonly append?: readonly Msg[];
}

/** The parts of a run that its log needs. */
interface LogParts {
  readonly runId: string;
  readonly setup: RunSetup;
  readonly states: CallStates;
  readonly halt: Halt;
  readonly waits: BoundedWaits;
}

/** Everything that a run reads from the log of its session, and writes to it. */
export class LoggedConversation {
  /** Empty until the run has read the log. */
  conversation: Conversation = new Conversation();
  /** Id of the question: the newest user message when the agent call began. */
  questionId: string | undefined;
  /** Whether the run has read the conversation. */
  isOpen = false;
  /** Work to do before the log gets the end of the run. */
  readonly beforeEnd: (() => Promise<void>)[] = [];
  readonly #parts: LogParts;
  /** Settles once the agent has its state from the log. */
  #restoring: Promise<unknown> | undefined;
  /** Whether this run has written messages. */
  #hasWritten = false;
  /** Whether the end of the run was written, or failed to be. */
  #isClosed = false;
  /** Copy of the session's values for code that runs after the end of the run. */
  #leftState: Record<string, JsonValue> | undefined;

  constructor(parts: LogParts) {
    this.#parts = parts;
  }

  /**
   * Whether the log knows that this run has begun. A run that ends before changes nothing there:
   * the open tool calls of earlier runs stay open.
   */
  get hasBegun(): boolean {
    return this.#parts.setup.status.openRunId === this.#parts.runId;
  }

  /** Whether the agent gets its state from the log for this run. */
  get isRestored(): boolean {
    return this.#restoring !== undefined;
  }

  /** Whether the log has the input. A wrapper may have stored it itself, before the run began. */
  get hasInput(): boolean {
    return this.hasBegun || this.#hasWritten;
  }

  get messages(): readonly Msg[] {
    return this.conversation.messages;
  }

  /** The newest assistant message of the conversation. */
  get lastReply(): Msg | undefined {
    return this.messages.findLast(({ role }) => role === 'assistant');
  }

  /** The session's values. Code that still runs after the end of the run gets a copy. */
  get state(): Record<string, JsonValue> {
    const { setup, halt, waits } = this.#parts;
    const { status } = setup;
    const isLeft = halt.stage === 'over' && waits.abandoned;
    if (isLeft) this.#leftState ??= structuredClone(status.state);
    return this.#leftState ?? status.state;
  }

  /**
   * Updates the agent's state from the log, and waits for all earlier writes. Reads the log only
   * once. Does not wait before `log.restore`: a write may wait for an earlier read that hangs,
   * and `log.restore` starts a new read in its place.
   */
  restore(): Promise<unknown> {
    const { halt, waits, setup } = this.#parts;
    const { status, log, tools, unwritten } = setup;
    return (this.#restoring ??= waits.forRead(
      Promise.all([log?.restore(status, tools, halt.signal), Promise.allSettled(unwritten)]),
    ));
  }

  /** Restores the state if the log can be read. The loop reports a failure of a later read. */
  async tryRestore(): Promise<void> {
    await this.restore().catch(() => {});
  }

  /** Reads the messages of the log. */
  async open(): Promise<void> {
    await this.restore();
    const { waits, setup } = this.#parts;
    const { memory, keptConversation } = setup;
    this.conversation = keptConversation.take(await waits.forRead(memory.read()));
    this.isOpen = true;
  }

  /** Reads the messages again after a failed write, which the memory may have kept. */
  async reload(): Promise<void> {
    const { waits, setup } = this.#parts;
    const messages = await waits.forRead(setup.memory.read()).catch(() => this.messages);
    this.conversation.replace(messages);
  }

  /** Adds these notes to the log, after the note that the run begins. */
  async begin(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void> {
    await this.note([{ kind: 'run-begin', runId: this.#parts.runId }, ...notes], options);
    this.markBegun();
  }

  /** Says that the run has begun, for a run whose input a wrapper stored itself. */
  markBegun(): void {
    this.#parts.setup.status.openRunId = this.#parts.runId;
  }

  /** Appends messages to the log, then to the conversation. */
  append(messages: readonly Msg[], options?: WriteOptions): Promise<void> {
    return this.edit({ append: messages }, options);
  }

  /**
   * Changes the conversation. A replaced message changes in the conversation before the log,
   * because another change of the same message may run at the same time. Adds the run's id to user
   * messages, so that the log shows where each turn begins.
   */
  async edit(
    { remove = [], replace = [], append: newMessages = [] }: LogEdit,
    options?: WriteOptions,
  ): Promise<void> {
    const { conversation } = this;
    const { runId, waits, setup, states } = this.#parts;
    const { memory } = setup;
    for (const message of replace) {
      const before = conversation.find(message.id);
      if (before) {
        conversation.replace(this.messages.map((one) => (one === before ? message : one)));
        states.applyReplacement(before, message);
      }
      await waits.forWrite(replaceMessage(memory, message));
    }
    if (!remove.length && !newMessages.length) return;
    this.#hasWritten = true;
    const added = newMessages.map((one) =>
      one.role === 'user' ? withMetadata(one, { runId }) : one,
    );
    await waits.forWrite(rewriteMessages(memory, remove, added, options), () => {
      const removed = remove.length ? this.messages.filter(({ id }) => remove.includes(id)) : [];
      if (removed[0]) conversation.replace(this.messages.filter((one) => !removed.includes(one)));
      conversation.add(added);
      states.applyMessages(removed, added);
    });
  }

  /** Adds notes to the log and applies them to the states of the open tool calls. */
  note(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void> {
    this.#parts.states.applyNotes(notes);
    return this.noteOnly(notes, options);
  }

  /** Adds notes to the log, and does not apply them to the states. */
  noteOnly(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void> {
    const { waits, setup } = this.#parts;
    return waits.forWrite(setup.log?.note(notes, options));
  }

  /** Returns the slot for the state of the next reply, if the memory stores such states. */
  replySlot(): ReplySlot | undefined {
    const { waits, setup } = this.#parts;
    return setup.log?.replies?.slotAfter(this.messages.at(-1)?.id ?? '', waits);
  }

  /**
   * Writes the end of the run to the log, once. If the run has failed meanwhile, rejects with its
   * failure, because its end then has the reason `error`.
   */
  async writeEnd(reason: string): Promise<void> {
    const { runId, halt, setup, waits } = this.#parts;
    if (halt.failure && reason !== 'error') throw halt.failure;
    if (this.#isClosed) return;
    // The work may store something, so it gets the time of a store. If it fails, so does the run.
    let failure: unknown;
    const keepFirst = (error: unknown): void => {
      failure ??= error;
    };
    for (const work of this.beforeEnd)
      await waits.forRead(Promise.resolve().then(work)).catch(keepFirst);
    this.beforeEnd.length = 0;
    if (failure) throw failure;
    this.#isClosed = true;
    await waits.forWrite(setup.memory.flush?.({ runId, reason, calls: setup.status.calls }));
  }

  /** Keeps the conversation for the next run. */
  keep(): void {
    this.#parts.setup.keptConversation.keep(this.conversation);
  }
}
