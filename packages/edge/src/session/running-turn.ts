import type { Memory, Msg, ReActAgent } from '@isoloop/core';
import { answerSoFar, type TurnInput } from '@isoloop/core/host';
import {
  bringsMessage,
  storesInputOnly,
  type QueuedTurn,
  type TurnQueue,
} from '../queue/turn-queue.ts';
import type { LiveTurn } from '../settings/turn-format.ts';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { makeAgent } from './setup.ts';
import { beginSessionTurn, resumeSessionTurn } from './begin-session-turn.ts';
import { titleNewSession } from './title-new-session.ts';
import { openAiOf } from '../answer/formats.ts';

/** What all turns of a session share. */
export interface TurnContext {
  /** Returns the settings for turns that begin now. */
  readonly settings: () => HandlerSettings;
  readonly setup: SessionSetup;
  readonly queue: TurnQueue;
  /** Whether the queue keeps the input of a running turn, beside the log. */
  readonly keepsInput: boolean;
  readonly memory: Memory;
  /**
   * Called when a turn ends, and when the session gets its title. Not called for a turn that is
   * refused before it begins.
   */
  readonly onChange: () => void;
}

export interface RunningTurnOptions extends TurnContext {
  /** Called when clients may read the turn. May be called again. */
  readonly onOpen: (live: LiveTurn) => void;
  /** Gets the promise of the agent's `close`. */
  readonly onClosing: (whenClosed: Promise<void>) => void;
}

/** One attempt to run a turn of the queue, with a new agent. */
export class RunningTurn {
  /** The turn as the queue had it before this attempt. */
  readonly turn: QueuedTurn;
  /**
   * Whether the turn has a message that its client need not send again: the client has got a status
   * of success. OpenAI's clients send it again.
   */
  readonly isAccepted: boolean;
  /** Whether the turn has changed the session. */
  hasChanged: boolean;
  /** The turn for clients. `undefined` until the agent's run has started. */
  live: LiveTurn | undefined;
  readonly #options: RunningTurnOptions;
  readonly #settings: HandlerSettings;
  /**
   * Whether the turn was added as one that starts at once. The queue has then counted this start,
   * and the client learns from the status whether the turn is refused.
   */
  readonly #startsAtOnce: boolean;
  readonly #abortController: AbortController = new AbortController();
  /** Whether an earlier attempt has begun the turn. Its isolate died. */
  readonly #isResumed: boolean;

  constructor(turn: QueuedTurn, startsAtOnce: boolean, options: RunningTurnOptions) {
    this.#options = options;
    this.#settings = options.settings();
    this.#startsAtOnce = startsAtOnce;
    this.turn = turn;
    this.isAccepted = !startsAtOnce && bringsMessage(turn.request) && !turn.fields;
    this.#isResumed = !startsAtOnce && turn.hasBegun;
    this.hasChanged = this.#isResumed;
  }

  /**
   * The turn, as soon as the conversation shows its messages. The log does not have them before the
   * guards have accepted them, or if the last isolate died before it wrote them.
   */
  get shownTurn(): QueuedTurn | undefined {
    return this.turn.hasBegun || this.hasChanged ? this.turn : undefined;
  }

  abort(): void {
    this.#abortController.abort();
  }

  /** Runs the turn. Rejects with the error of a turn that is refused or fails. */
  async run(): Promise<void> {
    const { setup, queue, memory, onClosing } = this.#options;
    const { turn } = this;
    const settings = this.#settings;
    let storesOnly = false;
    if (!this.#startsAtOnce) {
      // Counts the attempt first, because any later operation may end the isolate.
      queue.attempt(turn.id);
      storesOnly = storesInputOnly(turn, settings.sessions.resumeAttempts);
    }
    const { agent, close } = await makeAgent(settings, { ...setup, memory, model: turn.model });
    try {
      await this.#runAgent(agent, storesOnly);
    } finally {
      if (close) onClosing(close());
    }
  }

  async #runAgent(agent: ReActAgent, storesOnly: boolean): Promise<void> {
    const { queue, keepsInput, onChange, onOpen } = this.#options;
    const { turn } = this;
    const settings = this.#settings;
    const { signal } = this.#abortController;
    const call = turn.fields && openAiOf(settings).readCall(turn.fields, settings);
    call?.check(agent);
    const turnInput = await (this.#isResumed ? resumeSessionTurn : beginSessionTurn)(
      agent,
      turn.request,
      settings,
    );
    if (!turnInput) return;
    const { input, decisions, replaces } = turnInput;
    await titleNewSession(agent, onChange);
    const begin = (): void => queue.begin(turn.id);
    if (replaces) agent.addHook({ on: { 'pre-reasoning': begin } });
    else begin();
    this.hasChanged = true;
    const needsModel = asksModel(input);
    if (storesOnly) {
      // An aborted run stores no input. So a run with input is aborted before it asks the model.
      if (needsModel) agent.addHook({ on: { 'pre-reasoning': () => this.abort() } });
      else this.abort();
    }
    const open = (): void => {
      if (this.live) onOpen(this.live);
    };
    // A message that has to wait for results shows its clients nothing of this attempt.
    if (this.isAccepted) agent.addHook({ on: { 'pre-reasoning': open, 'pre-acting': open } });
    let earlierMessages: readonly Msg[] = [];
    if (!needsModel) earlierMessages = await answerSoFar(agent.memory);
    const stream = agent.stream(input, {
      ...call?.options,
      decisions,
      detached: true,
      signal,
      // Replaced messages stay in the log until the run stores its input. If the isolate dies
      // before that, the turn starts again.
      inputStored: keepsInput && !replaces,
    });
    this.live = { turn, agent, stream, call, earlierMessages };
    if (!this.isAccepted) onOpen(this.live);
    await stream.result;
  }
}

/** Returns whether an agent call with this input asks the model. Decisions alone do not. */
function asksModel(input: TurnInput['input']): boolean {
  return Array.isArray(input) ? input.some((item) => 'role' in item) : input !== undefined;
}
