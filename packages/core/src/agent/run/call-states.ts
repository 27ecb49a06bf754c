import type { AgentStatus, CallState } from '../../event/agent-status.ts';
import { applyMessage, applyNote, applyReplacement } from '../../memory/log/call-notes.ts';
import type { LogNote } from '../../memory/log/log-record.ts';
import type { ExtendedMemory } from '../../memory/memory.ts';
import { toolUsesOf, type Msg, type ToolUse } from '../../message/msg.ts';
import type { AgentBase } from './run-setup.ts';

/**
 * The states of the open tool calls, in `AgentStatus.calls`. During a run, only this class changes
 * them.
 */
export class CallStates {
  readonly #memory: ExtendedMemory;
  readonly #status: AgentStatus;

  constructor({ memory, status }: AgentBase) {
    this.#memory = memory;
    this.#status = status;
  }

  /**
   * State of a tool call without notes. It counts as started, so that its tool runs at most once.
   */
  get assumed(): CallState {
    return { started: this.#memory.unnotedCalls !== 'run' };
  }

  /**
   * Returns the state of a tool call, or nothing if the call has ended or nobody noted its state.
   */
  of({ id }: ToolUse): CallState | undefined {
    return this.#status.calls.get(id);
  }

  /** The states of all open tool calls, in the order in which the calls were noted. */
  list(): readonly CallState[] {
    return [...this.#status.calls.values()];
  }

  set({ id }: ToolUse, state: CallState): void {
    this.#status.calls.set(id, state);
  }

  /**
   * Drops the tool calls of removed messages. Then opens those of new messages, and closes those
   * with a result in them.
   */
  applyMessages(removed: readonly Msg[], added: readonly Msg[]): void {
    const { calls } = this.#status;
    for (const { id } of removed.flatMap(toolUsesOf)) calls.delete(id);
    for (const message of added) applyMessage(calls, message);
  }

  /** Drops the tool calls that a message no longer has, or whose results it has now. */
  applyReplacement(before: Msg, message: Msg): void {
    applyReplacement(this.#status.calls, before, message);
  }

  /** Applies notes of the log, such as decisions and the start of a tool. */
  applyNotes(notes: readonly LogNote[]): void {
    for (const note of notes) {
      if (note.kind === 'decision') this.keep(note.decision.toolUseId);
      applyNote(this.#status.calls, note);
    }
  }

  /** Makes sure that an open tool call has a state, which notes can change. */
  keep(id: string): void {
    const { calls } = this.#status;
    if (!calls.has(id)) calls.set(id, this.assumed);
  }
}
