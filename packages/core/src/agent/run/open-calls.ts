import type { CallState, OpenCall } from '../../event/agent-status.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/msg.ts';
import { withDecision, type Suspension } from '../../tool/tool-call.ts';
import type { CallStates } from './call-states.ts';
import type { LoggedConversation } from './logged-conversation.ts';
import type { JumpRequest } from './outbox.ts';
import type { Toolbox } from './toolbox.ts';

/** The open tool calls of a run. The messages say which are open, and `states` how far each is. */
export class OpenCalls {
  /** What hooks ask for at tool calls, until the loop carries it out. */
  roundJump: JumpRequest = {};
  readonly #log: LoggedConversation;
  readonly #states: CallStates;
  readonly #tools: Toolbox;
  /** The tool calls that get their results now, by id. */
  readonly #closing: Map<string, Promise<void>> = new Map();

  constructor(log: LoggedConversation, states: CallStates, tools: Toolbox) {
    this.#log = log;
    this.#states = states;
    this.#tools = tools;
  }

  /** The open tool calls in their order, with what people decided about them. */
  get open(): readonly OpenCall[] {
    const { current: tools } = this.#tools;
    return this.#uses.map((madeCall) => {
      const ownState = this.stateOf(madeCall);
      const state = ownState ?? this.#states.assumed;
      const toolUse = state.toolUse ?? madeCall;
      return withDecision({ toolUse, state, isNoted: ownState !== undefined }, tools);
    });
  }

  /** What the open tool calls wait for, in the order of the tool calls. */
  get pending(): readonly PendingCall[] {
    const { isOpen, isRestored } = this.#log;
    // A run that is rejected before it reads the messages knows only the states of the calls.
    const states =
      !isOpen && isRestored ? this.#states.list() : this.open.map(({ state }) => state);
    return states.flatMap(({ pending }) => pending ?? []);
  }

  get #uses(): readonly ToolUse[] {
    return this.#log.conversation.openToolUses();
  }

  /** Same as `states.of`. */
  stateOf(toolUse: ToolUse): CallState | undefined {
    return this.#states.of(toolUse);
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

  /** Keeps a tool call as the hooks left it. Its tool may start now, so it waits for nobody. */
  markReady({ state }: OpenCall, toolUse: ToolUse): void {
    const { pending: _pending, ...rest } = this.stateOf(toolUse) ?? state;
    this.#states.set(toolUse, { ...rest, toolUse, started: false });
  }

  /** Keeps what a tool call waits for. The end of the run writes it to the log. */
  suspend(toolUse: ToolUse, outcome: Suspension): void {
    const { suspended: _suspended, kind = 'suspended', ...details } = outcome;
    const { id: toolUseId, name, input } = toolUse;
    const pending: PendingCall = { toolUseId, name, input, kind, ...details };
    this.#states.keep(toolUseId);
    this.#states.applyNotes([{ kind: 'suspended', calls: [{ pending, toolUse }] }]);
  }
}
