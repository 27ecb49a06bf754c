import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import { runInfo, type RunInfo, type Usage } from '../../model/chat-model.ts';
import type { CompletedOptions } from '../kernel-options.ts';
import type { LiveRun } from '../run/live-run.ts';
import { callsOf } from './calls.ts';
import { endingOf } from './ending.ts';
import { eventsOf } from './events.ts';
import { inboxOf } from './inbox.ts';
import { logOf } from './log.ts';
import { modelOf } from './model.ts';
import { promptOf } from './prompt.ts';
import type { Run } from './run.ts';
import { toolsOf } from './tools.ts';
import { waitOf } from './wait.ts';

/** The `run` that middleware and hooks get. Makes each group at its first use. */
export class RunObject implements Run {
  readonly #live: LiveRun;
  #log: Run['log'] | undefined;
  #prompt: Run['prompt'] | undefined;
  #tools: Run['tools'] | undefined;
  #model: Run['model'] | undefined;
  #calls: Run['calls'] | undefined;
  #events: Run['events'] | undefined;
  #ending: Run['ending'] | undefined;
  #wait: Run['wait'] | undefined;
  #inbox: Run['inbox'] | undefined;
  readonly runId: string;
  readonly sessionId: string;
  readonly userId: string | undefined;
  readonly agentPath: readonly string[];
  readonly options: CompletedOptions;
  readonly signal: AbortSignal;
  readonly stopSignal: AbortSignal;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly createMessage: Run['createMessage'];

  constructor(live: LiveRun) {
    this.#live = live;
    this.runId = live.info.runId;
    this.sessionId = live.info.sessionId;
    this.userId = live.info.userId;
    this.agentPath = live.info.agentPath;
    this.options = live.options;
    this.signal = live.halt.signal;
    this.stopSignal = live.halt.stopSignal;
    this.now = live.clock.now;
    this.monotonicNow = live.clock.monotonicNow;
    this.createMessage = (...args) => live.author.createMessage(...args);
  }

  /**
   * Returns the loop's own object for the `run` that middleware got, or `undefined` for another
   * one.
   */
  static liveRunOf(run: object): LiveRun | undefined {
    return #live in run ? run.#live : undefined;
  }

  get resumes(): string | undefined {
    return this.#live.resumes;
  }

  get iteration(): number {
    return this.#live.totals.iteration;
  }

  get usage(): Usage {
    return this.#live.totals.usage;
  }

  get messages(): readonly Msg[] {
    return this.#live.log.messages;
  }

  get questionId(): string | undefined {
    return this.#live.log.questionId;
  }

  get state(): Record<string, JsonValue> {
    return this.#live.log.state;
  }

  get log(): Run['log'] {
    return (this.#log ??= logOf(this.#live));
  }

  get prompt(): Run['prompt'] {
    return (this.#prompt ??= promptOf(this.#live));
  }

  get tools(): Run['tools'] {
    return (this.#tools ??= toolsOf(this.#live));
  }

  get model(): Run['model'] {
    return (this.#model ??= modelOf(this.#live));
  }

  get calls(): Run['calls'] {
    return (this.#calls ??= callsOf(this.#live));
  }

  get events(): Run['events'] {
    return (this.#events ??= eventsOf(this.#live));
  }

  get ending(): Run['ending'] {
    return (this.#ending ??= endingOf(this.#live));
  }

  get wait(): Run['wait'] {
    return (this.#wait ??= waitOf(this.#live));
  }

  get inbox(): Run['inbox'] {
    return (this.#inbox ??= inboxOf(this.#live));
  }

  toJSON(): RunInfo {
    return runInfo(this);
  }
}
