import type { CallState, OpenCall } from '../../event/agent-status.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import { applyMessage, applyNote, applyReplacement } from '../../memory/log/call-notes.ts';
import type { LogNote } from '../../memory/log/log-record.ts';
import { toolUsesOf, type ToolUse, type Msg } from '../../message/msg.ts';
import { withDecision, type Suspension } from '../../tool/tool-call.ts';
import type { LiveRun } from './live-run.ts';
import type { JumpRequest } from './outbox.ts';

/**
 * The open tool calls of a run. The messages say which tool calls are open. `AgentStatus.calls` has
 * the state of each. During a run, only this class changes these states.
 */
export class OpenCalls {
  /** What hooks ask for at tool calls, until the loop carries it out. */
  roundJump: JumpRequest = {};
  readonly #run: Pick<LiveRun, 'log' | 'setup' | 'tools'>;
  /** The tool calls that get their results now, by id. */
  readonly #closing: Map<string, Promise<void>> = new Map();

  constructor(run: Pick<LiveRun, 'log' | 'setup' | 'tools'>) {
    this.#run = run;
  }

  /** The open tool calls in their order, with what people decided about them. */
  get open(): readonly OpenCall[] {
    const { current: tools } = this.#run.tools;
    return this.#uses.map((madeCall) => {
      const ownState = this.stateOf(madeCall);
      const state = ownState ?? this.#assumedState;
      const toolUse = state.toolUse ?? madeCall;
      return withDecision({ toolUse, state, isNoted: ownState !== undefined }, tools);
    });
  }

  /** What the open tool calls wait for, in the order of the tool calls. */
  get pending(): readonly PendingCall[] {
    return this.open.flatMap(({ state }) => state.pending ?? []);
  }

  get #states(): Map<string, CallState> {
    return this.#run.setup.status.calls;
  }

  get #uses(): readonly ToolUse[] {
    return this.#run.log.conversation.openToolUses();
  }

  /**
   * State of a tool call without notes. It counts as started, so that its tool runs at most once.
   */
  get #assumedState(): CallState {
    return { started: this.#run.setup.memory.unnotedCalls !== 'run' };
  }

  /** Returns whether a tool call has no result yet. */
  isOpen(toolUse: ToolUse): boolean {
    // A search for each of many calls would be slow.
    const isNoted = this.stateOf(toolUse) !== undefined;
    return isNoted || this.#uses.some(({ id }) => id === toolUse.id);
  }

  /** Notes that a tool call gets its result now. Returns the function that ends this note. */
  beginClosing({ id }: ToolUse): () => void {
    let resolve!: () => void;
    this.#closing.set(id, new Promise((done) => (resolve = done)));
    return () => {
      this.#closing.delete(id);
      resolve();
    };
  }

  /** Resolves once a tool call has got its result or failed to. Nothing if it gets none now. */
  closingOf({ id }: ToolUse): Promise<void> | undefined {
    return this.#closing.get(id);
  }

  /**
   * Returns the state of a tool call, or nothing if the call has ended or nobody noted its state.
   */
  stateOf({ id }: ToolUse): CallState | undefined {
    return this.#states.get(id);
  }

  /**
   * Drops the tool calls of removed messages. Then opens those of new messages, and closes those
   * with a result in them.
   */
  applyMessages(removed: readonly Msg[], added: readonly Msg[]): void {
    for (const { id } of removed.flatMap(toolUsesOf)) this.#states.delete(id);
    for (const message of added) applyMessage(this.#states, message);
  }

  /** Drops the tool calls that a message no longer has, or whose results it has now. */
  applyReplacement(before: Msg, message: Msg): void {
    applyReplacement(this.#states, before, message);
  }

  /** Applies notes of the log, such as decisions and the start of a tool. */
  applyNotes(notes: readonly LogNote[]): void {
    for (const note of notes) {
      if (note.kind === 'decision') this.#keepState(note.decision.toolUseId);
      applyNote(this.#states, note);
    }
  }

  /** Keeps a tool call as the hooks left it. Its tool may start now, so it waits for nobody. */
  markReady({ state }: OpenCall, toolUse: ToolUse): void {
    const { pending: _pending, ...rest } = this.stateOf(toolUse) ?? state;
    this.#states.set(toolUse.id, { ...rest, toolUse, started: false });
  }

  /** Keeps what a tool call waits for. The end of the run writes it to the log. */
  suspend(toolUse: ToolUse, outcome: Suspension): void {
    const { suspended: _suspended, kind = 'suspended', ...details } = outcome;
    const { id: toolUseId, name, input } = toolUse;
    const pending: PendingCall = { toolUseId, name, input, kind, ...details };
    this.#keepState(toolUseId);
    this.applyNotes([{ kind: 'suspended', calls: [{ pending, toolUse }] }]);
  }

  /** Makes sure that an open tool call has a state, which notes can change. */
  #keepState(id: string): void {
    if (!this.#states.has(id)) this.#states.set(id, this.#assumedState);
  }
}
