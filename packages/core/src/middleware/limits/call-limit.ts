import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { HookControl } from '../../event/hook.ts';
import type { AgentCall } from '../../loop/use/middleware.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import type { StateKey } from '../../state/state-key.ts';
import { ownName, ownState, type StateMiddleware } from '../../state/state-keys.ts';

export interface CallLimitOptions {
  /** Largest number in one run. A run that resumes after a suspension continues its count. */
  readonly run?: number;
  /** Largest number in all runs of the session. */
  readonly session?: number;
  /**
   * What happens at the limit. `end` (default): the call ends with our message and reason `limit`.
   * `error`: the call fails with `LIMIT_EXCEEDED`.
   */
  readonly exit?: 'end' | 'error';
  /** The message; default: names the limit that is reached. */
  readonly message?: string;
}

interface Count {
  readonly session: number;
  readonly run: number;
  readonly runId: string;
  /**
   * Mark of the last item counted or refused. Limits of one kind share a count, and each of them
   * asks to raise it.
   */
  readonly last: string;
}

type Counts = Readonly<Record<string, StateKey<Count, Count>>>;
type JumpControl = Pick<HookControl, 'jumpTo'>;
type InRun = Pick<RunInfo, 'runId'>;

/** A count of calls in the session's state, and the action at its limits. */
export class CallLimit {
  readonly state: StateMiddleware<Counts>;
  readonly #key: string;
  readonly #what: string;
  readonly #options: CallLimitOptions;
  readonly #resumed: Map<string, string> = new Map();

  /**
   * Throws `CONFIGURATION` if there is no limit, or one is not a number. `key` names the count,
   * `what` names the counted calls.
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

  /** Remembers which run this one resumes. The state is not available yet. */
  begin({ runId, resumes }: EventOf<'run-start'>): void {
    if (resumes !== undefined) this.#resumed.set(runId, resumes);
  }

  /** Forgets a run that was refused at its start. */
  end({ runId }: EventOf<'run-end'>): void {
    this.#resumed.delete(runId);
  }

  wrapRun(next: AgentCall): AgentCall {
    return this.state.wrapRun((input, context) => {
      const { runId } = context;
      const count = this.#count(context);
      const goesOn = this.#resumed.get(runId) === count.runId;
      this.#resumed.delete(runId);
      if (count.runId !== runId)
        this.#set(context, { ...count, run: goesOn ? count.run : 0, runId });
      return next(input, context);
    });
  }

  /** Counts one more call, or ends the agent's call. Several limits of one kind share a count. */
  take(event: EventOf<'pre-reasoning'>, control: JumpControl, mark: string): void {
    const count = this.#count(event);
    const isCounted = count.last === mark;
    if (count.last === refused(mark)) return;
    const before = isCounted
      ? { ...count, run: count.run - 1, session: count.session - 1, last: '' }
      : count;
    if (isCounted) this.#set(event, before);
    const words = this.check(event, control, 1, refused(mark));
    if (words === undefined) this.add(event, mark);
  }

  /** Ends the agent's call if `more` would exceed a limit, and returns the message in that case. */
  check(event: InRun, control: JumpControl, more: number, mark: string): string | undefined {
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

  add(event: InRun, mark: string): void {
    const count = this.#count(event);
    if (count.last !== mark)
      this.#set(event, { ...count, session: count.session + 1, run: count.run + 1, last: mark });
  }

  #count(event: InRun): Count {
    return this.state.of(event).read(this.#key);
  }

  #set(event: InRun, count: Count): void {
    this.state.of(event).write({ [this.#key]: count });
  }
}

/** Priority after the hooks of other middleware, except observers at `Infinity`. */
export const lastPriority: number = Number.MAX_SAFE_INTEGER;

/** Returns the mark of a refused call, which no other limit counts. */
function refused(mark: string): string {
  return `!${mark}`;
}

const none: Count = { session: 0, run: 0, runId: '', last: '' };
