import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { HookControl } from '../../event/hook.ts';
import type { StateKey } from '../../state/state-key.ts';
import { ownName, ownState, type StateExtension } from '../../state/state-keys.ts';

export interface CallLimitOptions {
  /** At most so many in one run; a run that goes on after a suspension counts on. */
  readonly run?: number;
  /** At most so many in all runs of the session. */
  readonly session?: number;
  /**
   * `end` (default): the call ends with words of ours and reason `limit`. `error`: it fails with
   * `LIMIT_EXCEEDED`.
   */
  readonly exit?: 'end' | 'error';
  /** The words; default: which limit is reached. */
  readonly message?: string;
}

interface Count {
  readonly session: number;
  readonly run: number;
  readonly runId: string;
  /**
   * What was counted or refused last: several limits of one kind share a count, and each asks for
   * it to go up.
   */
  readonly last: string;
}

type Counts = Readonly<Record<string, StateKey<Count, Count>>>;
type AnyEvent = EventOf<'run-start' | 'pre-reasoning' | 'post-reasoning' | 'pre-acting'>;

/** A count of calls, in the session's state, and what happens at its limits. */
export class CallLimit {
  readonly state: StateExtension<Counts>;
  readonly #key: string;
  readonly #what: string;
  readonly #options: CallLimitOptions;

  /**
   * Throws `CONFIGURATION` where there is no limit, or one is no number. `key` names the count,
   * `what` is what is counted.
   */
  constructor(where: string, key: string, what: string, options: CallLimitOptions) {
    checkFields(
      'CONFIGURATION',
      where,
      options,
      'run:count|? session:count|? exit:end|error|? message:string|?',
    );
    if ((options.run ?? options.session) === undefined)
      throw new AgentError('CONFIGURATION', `${where} needs run or session.`);
    this.state = ownState(key, none);
    this.#key = ownName(key);
    this.#what = what;
    this.#options = options;
  }

  begin(event: EventOf<'run-start'>): void {
    const count = this.#count(event);
    const goesOn = event.resumes !== undefined && event.resumes === count.runId;
    if (count.runId !== event.runId)
      this.#set(event, { ...count, run: goesOn ? count.run : 0, runId: event.runId });
  }

  /** Ends the call where `more` would be too many, and gives the words then. */
  check(event: AnyEvent, control: HookControl, more: number, mark: string): string | undefined {
    const { run: maxRun = Infinity, session: maxSession = Infinity, exit, message } = this.#options;
    const count = this.#count(event);
    const of = (used: number, max: number, where: string): string[] =>
      used + more > max
        ? [`${used} of ${max} used in this ${where}${more > 1 ? `, ${more} more asked for` : ''}`]
        : [];
    const reached = [...of(count.run, maxRun, 'run'), ...of(count.session, maxSession, 'session')];
    if (!more || !reached.length) return undefined;
    const words = message ?? `The limit of ${this.#what} is reached: ${reached.join('; ')}.`;
    if (exit === 'error') {
      const { run, session } = count;
      throw new AgentError('LIMIT_EXCEEDED', words, {
        details: { what: this.#what, run, session },
      });
    }
    this.#set(event, { ...count, last: mark });
    control.jumpTo('end', words, 'limit');
    return words;
  }

  add(event: AnyEvent, mark: string): void {
    const count = this.#count(event);
    if (count.last !== mark)
      this.#set(event, { ...count, session: count.session + 1, run: count.run + 1, last: mark });
  }

  #count(event: AnyEvent): Count {
    return this.state.of(event).read(this.#key);
  }

  #set(event: AnyEvent, count: Count): void {
    this.state.of(event).write({ [this.#key]: count });
  }
}

/** After all hooks that others bring. */
export const lastPriority: number = Number.MAX_SAFE_INTEGER;

const none: Count = { session: 0, run: 0, runId: '', last: '' };
