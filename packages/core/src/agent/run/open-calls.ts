import type { CallState } from '../../event/call-state.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import { takeNote } from '../../memory/log/call-notes.ts';
import type { RunNote } from '../../memory/log/log-record.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { Suspension } from '../../tool/tool-outcome.ts';
import { toolResult } from '../../tool/tool-result.ts';
import type { OpenCall } from '../middleware.ts';
import type { Run } from './run.ts';

/**
 * The open tool calls of a run. The messages say which calls are open, and `AgentStatus.calls` has
 * the state of each. Only this class changes these states during a run.
 */
export class OpenCalls {
  readonly #run: Run;
  readonly #states: Map<string, CallState>;

  constructor(run: Run) {
    this.#run = run;
    this.#states = run.status.calls;
  }

  /**
   * Returns the open tool calls in their order. Each call that the reply makes beyond
   * `limits.replyCalls` has an error result. A call that waits for somebody came before the limit.
   */
  list(): readonly OpenCall[] {
    const { messages, conversation, options } = this.#run;
    const { replyCalls } = options.limits;
    const reply = messages.findLast(({ role }) => role === 'assistant');
    const isLong = reply && reply.content.length > replyCalls;
    const late = new Set(isLong ? toolUsesOf(reply).slice(replyCalls) : []);
    const output = `Error: A reply may have ${replyCalls} tool calls. Make this call again later.`;
    return conversation.openCalls().map((asked): OpenCall => {
      const known = this.state(asked);
      const state = known ?? this.#assumed;
      const isRefused = late.has(asked) && !state.pending && !state.decision;
      return {
        toolUse: state.toolUse ?? asked,
        state,
        isKnown: known !== undefined,
        ...(isRefused && { result: toolResult(asked, output, 'error') }),
      };
    });
  }

  /** Returns what the open tool calls wait for, in the order of the tool calls. */
  pending(): readonly PendingCall[] {
    return this.list().flatMap(({ state }) => state.pending ?? []);
  }

  /** Returns what the log says about a tool call, or nothing if the memory keeps no notes. */
  state({ id }: ToolUse): CallState | undefined {
    return this.#states.get(id);
  }

  /** Opens the tool calls of new messages, and closes those with a result in them. */
  take(messages: readonly Msg[]): void {
    for (const message of messages) {
      for (const { id } of toolUsesOf(message)) this.#states.set(id, {});
      for (const { toolUseId } of toolResultsOf(message)) this.#states.delete(toolUseId);
    }
  }

  /** Applies notes of the log, such as decisions and the start of a tool. */
  note(notes: readonly RunNote[]): void {
    for (const note of notes) {
      if (note.kind === 'decision') this.#keep(note.decision.toolUseId);
      takeNote(this.#states, note);
    }
  }

  /** Keeps a tool call as the hooks left it. Its tool may start now, so it waits for nobody. */
  admit({ toolUse: { id }, state }: OpenCall, toolUse: ToolUse): void {
    const { pending: _pending, ...left } = this.#states.get(id) ?? state;
    this.#states.set(id, { ...left, toolUse, started: false });
  }

  /** Keeps what a tool call waits for. The end of the run writes it to the log. */
  suspend(toolUse: ToolUse, { suspended, kind = 'suspended', ...about }: Suspension): void {
    const { id: toolUseId, name, input } = toolUse;
    const reason = suspended ? { reason: suspended } : {};
    const pending: PendingCall = { toolUseId, name, input, kind, ...reason, ...about };
    this.#keep(toolUseId);
    this.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }]);
  }

  /** Makes sure that an open tool call has a state, which notes can change. */
  #keep(id: string): void {
    if (!this.#states.has(id)) this.#states.set(id, this.#assumed);
  }

  /**
   * State of a tool call about which the log says nothing. It counts as started, so that its tool
   * runs at most once.
   */
  get #assumed(): CallState {
    return { started: this.#run.setup.memory.openCalls !== 'run' };
  }
}
