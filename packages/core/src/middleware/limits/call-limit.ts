import type { Ending } from '../../agent/next.ts';
import type { RunContext, Steps } from '../../agent/middleware.ts';
import { AgentError, misconfigured } from '../../error/agent-error.ts';
import { ownPrefix } from '../../state/state-key.ts';

/** How many calls a run and a session may have, and what happens after the last one. */
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

/** Fields of `CallLimitOptions` for `checkOptions`. */
export const limitFields = 'run:count|? session:count|? exit:end|error|? message:string|?';

/** The numbers of a session. The limits of one kind share them. */
type Count = Readonly<Record<'session' | 'run' | 'counted', number>> & { readonly runId: string };

/** A limit of model requests or tool calls, which are counted in the session's state. */
export class CallLimit {
  readonly #key: string;
  readonly #what: string;
  readonly #options: CallLimitOptions;

  /**
   * Creates a limit. `key` is the name of the count in the state, and `what` names the counted
   * items in messages. Throws `CONFIGURATION` without a limit.
   */
  constructor(where: string, key: string, what: string, options: CallLimitOptions) {
    if ((options.run ?? options.session) === undefined)
      throw misconfigured(`${where} needs run or session.`);
    this.#key = ownPrefix + key;
    this.#what = what;
    this.#options = options;
  }

  /**
   * Returns the message of the limit if `more` further items would exceed it. With `exit: 'error'`,
   * throws it.
   */
  reachedBy(more: number, context: RunContext): string | undefined {
    const { run: maxRun = Infinity, session: maxSession = Infinity, exit, message } = this.#options;
    const { run, session } = this.#countOf(context);
    const of = (used: number, max: number, where: string): readonly string[] =>
      used + more > max
        ? [`${used} of ${max} used in this ${where}${more > 1 ? `, ${more} more asked for` : ''}`]
        : [];
    const reached = [...of(run, maxRun, 'run'), ...of(session, maxSession, 'session')];
    if (!more || !reached.length) return undefined;
    const words = message ?? `The limit of ${this.#what} is reached: ${reached.join('; ')}.`;
    if (exit !== 'error') return words;
    throw new AgentError('LIMIT_EXCEEDED', words, { details: { what: this.#what, run, session } });
  }

  /**
   * Brings the count up to date. `total`: number of items in this run so far. The total of another
   * limit of the same kind is the same, so each item counts once.
   */
  count(total: number, context: RunContext): void {
    const { session, run, counted, runId } = this.#countOf(context);
    const more = Math.max(total - counted, 0);
    const sums = { session: session + more, run: run + more, counted: counted + more };
    context.state[this.#key] = { ...sums, runId };
  }

  #countOf(context: RunContext): Count {
    const { runId, resumes, state } = context;
    const known = state[this.#key] as Count | undefined;
    if (known?.runId === runId) return known;
    const { session = 0, run = 0, runId: earlier } = known ?? {};
    const isResumed = earlier !== undefined && earlier === resumes;
    return { session, run: isResumed ? run : 0, counted: 0, runId };
  }
}

/** Returns the end of an agent call at a limit. */
export function endAt(words: string, steps: Steps): Ending {
  const message = steps.message('assistant', words, { metadata: { reason: 'limit' } });
  return { kind: 'told', reason: 'limit', message };
}
