import { AgentError, fieldOf } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';

/** Why a run ends before its answer. */
export type HaltReason = 'aborted' | 'interrupted' | 'suspended';

/** What ends a run before its answer. */
export type HaltCause =
  | { readonly kind: 'none' | 'aborted' }
  /** At the next interrupt point, without an answer. The next agent call continues the run. */
  | { readonly kind: 'suspended' }
  /** At the next interrupt point. Default of `message`: the agent's recovery message. */
  | { readonly kind: 'interrupted'; readonly message?: Msg | undefined }
  /** `rejected`: by a guard or a hook. */
  | { readonly kind: 'rejected' | 'failed'; readonly error: AgentError };

/**
 * What wins over what: a halt replaces those before it. Of two equal ones, the first one counts.
 */
const halts: readonly HaltCause['kind'][] = [
  'none',
  'suspended',
  'interrupted',
  'rejected',
  'aborted',
  'failed',
];

/**
 * How far the end of a run has come:
 * - `running`: it takes interrupts, and more input.
 * - `finishing`: it has its ending, so interrupts come too late.
 * - `aborting`: it only carries out an abort or a failure. Code that hangs no longer matters.
 * - `over`: the agent call has ended. What still runs can no longer change it.
 */
export type Stage = 'running' | 'finishing' | 'aborting' | 'over';

const stages: readonly Stage[] = ['running', 'finishing', 'aborting', 'over'];

/**
 * The part of a run that knows what ends it and how far its end has come, and tells others. Both
 * only move forward. `halt` says what ends the run, and everything else is read from it or from the
 * stage:
 * - `stopped`: whether the loop has to end here, at an interrupt point.
 * - `aborted` and `signal`: whether running code has to end at once.
 * - `failure`: the error with which the agent call rejects.
 * - `stage`: whether others may still change how the run ends.
 */
export class Halt {
  #cause: HaltCause = { kind: 'none' };
  #stage: Stage = 'running';
  #aborted = false;
  readonly #abort: AbortController = new AbortController();
  readonly #interrupt: AbortController = new AbortController();
  // A pause aborts this one, too, so it is no `AbortSignal.any` of the others.
  readonly #stop: AbortController = new AbortController();
  /** Aborts when the run is aborted, also by a failure. */
  readonly signal: AbortSignal = this.#abort.signal;
  /** Aborts when the run is aborted, interrupted or paused. */
  readonly stopSignal: AbortSignal = this.#stop.signal;
  /**
   * Aborts when the run is interrupted and has to answer. An abort of the run does not abort it.
   */
  readonly interruptSignal: AbortSignal = this.#interrupt.signal;

  get cause(): HaltCause {
    return this.#cause;
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** Same as `signal.aborted`, which is slow in Node. */
  get aborted(): boolean {
    return this.#aborted;
  }

  get stopped(): HaltReason | undefined {
    if (this.#aborted) return 'aborted';
    const { kind } = this.#cause;
    return kind === 'interrupted' || kind === 'suspended' ? kind : undefined;
  }

  /** The error to throw once the tool calls are closed. */
  get failure(): AgentError | undefined {
    return this.#cause.kind === 'failed' ? this.#cause.error : undefined;
  }

  /** Moves the end of the run forward to this stage. */
  enterStage(stage: Stage): void {
    if (stages.indexOf(stage) > stages.indexOf(this.#stage)) this.#stage = stage;
  }

  /** Ends the run in this way at its next interrupt point. */
  stopWith(by: Extract<HaltCause, { readonly kind: 'suspended' | 'interrupted' }>): void {
    this.#haltBy(by);
    this.#stop.abort();
    if (this.stopped === 'interrupted') this.#interrupt.abort();
  }

  /**
   * Ends the agent call without an abort. The error tells whether a guard or a hook rejected it, or
   * whether it fails, for example because the agent is busy.
   */
  haltWith(error: AgentError): void {
    this.#haltBy({ kind: isRejection(error) ? 'rejected' : 'failed', error });
  }

  /** Stops everything at once. */
  abort(reason?: unknown): void {
    this.#haltBy({ kind: 'aborted' });
    this.#aborted = true;
    this.#abort.abort(reason);
    this.#stop.abort(reason);
  }

  /** Stops everything at once, as an abort does, and makes the agent call fail. */
  readonly fail = (error: unknown): void => {
    // An error after an abort is a consequence of the abort.
    if (this.#aborted) return;
    const failure = AgentError.from(error);
    this.#haltBy({ kind: 'failed', error: failure });
    this.abort(failure);
  };

  /** Throws `ABORTED` after the end of the run, so that code that still runs changes nothing. */
  throwIfOver(): void {
    if (this.#stage === 'over') throw new AgentError('ABORTED', 'The run has ended.');
  }

  /** Returns whether `thrown` comes from the abort of the run, not from a failure. */
  isAbort(thrown: unknown): boolean {
    return this.#aborted && thrown === this.signal.reason;
  }

  /**
   * Returns whether `thrown` comes from work that took `stopSignal`, after an interrupt or a pause.
   * It is then no failure: the run ends as it was asked to.
   */
  isStop(thrown: unknown): boolean {
    const { aborted, reason } = this.stopSignal;
    return !this.#aborted && aborted && isCausedBy(thrown, reason);
  }

  #haltBy(next: HaltCause): void {
    if (halts.indexOf(next.kind) > halts.indexOf(this.#cause.kind)) this.#cause = next;
  }
}

/** Returns whether a guard or a hook has rejected the agent call. */
export function isRejection(thrown: unknown): thrown is AgentError {
  if (!AgentError.is(thrown)) return false;
  return thrown.code === 'GUARD_REJECTED' || thrown.code === 'HOOK_REJECTED';
}

/** Returns whether an error is `cause`, or has it as its cause. */
function isCausedBy(error: unknown, cause: unknown): boolean {
  const seen = new Set<unknown>();
  for (let one = error; !seen.has(one); one = fieldOf(one, 'cause')) {
    if (one === cause) return true;
    seen.add(one);
  }
  return false;
}
