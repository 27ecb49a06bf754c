import { AgentError } from '../../error/agent-error.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { HookControl } from '../../event/hook.ts';
import type { AgentCall } from '../../agent/middleware.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import type { StateKey } from '../../state/state-key.ts';
import { ownName, ownState, type StateMiddleware } from '../state/state-keys.ts';

export interface CallLimitOptions {
  /** Maximum number in one run. A run that resumes after a suspension continues the count. */
  readonly run?: number;
  /** Maximum number in all runs of the session. */
  readonly session?: number;
  /**
   * What happens at the limit. `end` (default) ends the agent call with `message` as its text and
   * `limit` as its reason. `error` fails the agent call with `LIMIT_EXCEEDED`.
   */
  readonly exit?: 'end' | 'error';
  /** Text of the final message or of the error. Default: names the limit that is reached. */
  readonly message?: string;
}

interface Count {
  readonly session: number;
  readonly run: number;
  readonly runId: string;
  /**
   * Mark of the last counted or refused item. Several limits of one kind share a count, and each of
   * them tries to count the same item.
   */
  readonly last: string;
}

type Counts = Readonly<Record<string, StateKey<Count, Count>>>;
type JumpControl = Pick<HookControl, 'jumpTo'>;
type InRun = Pick<RunInfo, 'runId'>;

/** Fields of `CallLimitOptions` for `checkOptions`. */
export const limitFields = 'run:count|? session:count|? exit:end|error|? message:string|?';

/**
 * Counts model requests or tool calls in the session's state, and ends the agent call at a limit.
 */
export class CallLimit {
  readonly state: StateMiddleware<Counts>;
  readonly #key: string;
  readonly #what: string;
  readonly #options: CallLimitOptions;
  readonly #resumed: Map<string, string> = new Map();

  /**
   * Creates a limit. `key` is the name of the count in the state, and `what` names the counted
   * items in messages. Throws `CONFIGURATION` without a limit.
   */
  constructor(where: string, key: string, what: string, options: CallLimitOptions) {
    if ((options.run ?? options.session) === undefined)
      throw new AgentError('CONFIGURATION', `${where} needs run or session.`);
    this.state = ownState(key, none);
    this.#key = ownName(key);
    this.#what = what;
    this.#options = options;
  }

  /**
   * Remembers which run this run resumes, because the session's state is not available at
   * `run-start`.
   */
  begin({ runId, resumes }: EventOf<'run-start'>): void {
    if (resumes !== undefined) this.#resumed.set(runId, resumes);
  }

  /** Forgets a run that ended before `wrapRun` was called. */
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

  /**
   * Counts one model request, or ends the agent call. A request that another limit has counted is
   * not counted again.
   */
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

  /**
   * Ends the agent call if `more` further items would exceed a limit. In that case, returns the
   * message.
   */
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

/**
 * Priority that runs a hook after all hooks of other middleware, except hooks with priority
 * `Infinity`.
 */
export const lastPriority: number = Number.MAX_SAFE_INTEGER;

/** Returns the mark of a refused item. No other limit counts an item with this mark. */
function refused(mark: string): string {
  return `!${mark}`;
}

const none: Count = { session: 0, run: 0, runId: '', last: '' };
