import type { Run } from '../agent/middleware.ts';
import type { Ending } from '../agent/next.ts';
import { AgentError, misconfigured } from '../error/agent-error.ts';
import { nonNegative, oneOf, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { ownPrefix } from '../state/state-key.ts';

/** How many calls a run and a session may have, and what happens after the last one. */
export interface CallLimitOptions {
  /** Maximum number in one run. A run that resumes after a suspension continues the count. */
  readonly run?: number;
  /** Maximum number in all runs of the session. */
  readonly session?: number;
  /**
   * What happens at the limit. `end` (default) ends the agent call with `text` as its answer and
   * `limit` as its reason. `fail` fails it with `LIMIT_EXCEEDED`.
   */
  readonly atLimit?: 'end' | 'fail';
  /** Text of the final message or of the error. Default: names the limit that is reached. */
  readonly text?: string;
}

export const callLimitOptions: OptionTable<CallLimitOptions> = {
  run: optional(nonNegative),
  session: optional(nonNegative),
  atLimit: optional(oneOf('end', 'fail')),
  text: optional(string),
};

/** The numbers of a session, which the limits of one kind share. */
interface Count {
  readonly runId: string;
  /** Items of the session before the run `runId`. */
  readonly sessionBefore: number;
  /** Items of the runs that the run `runId` continues. */
  readonly runBefore: number;
  /** Items of the run `runId`. */
  readonly thisRun: number;
}

/** A limit of one kind of items. */
interface CallLimit {
  /** Returns the error of the limit if `more` further items would exceed it. */
  excess(more: number, run: Run): AgentError | undefined;
  /** Sets the number of items that this run has had so far. */
  setCount(thisRun: number, run: Run): void;
}

/**
 * Creates a limit of model requests or tool calls, which are counted in the session's state. `key`
 * is the name of the count in the state, and `what` names the counted items in messages. Throws
 * `CONFIGURATION` without a limit.
 */
export function callLimit(key: string, what: string, options: CallLimitOptions): CallLimit {
  if ((options.run ?? options.session) === undefined)
    throw misconfigured(`The limit of ${what} needs \`run\` or \`session\`.`);
  const name = ownPrefix + key;
  return {
    excess(more, run) {
      const { sessionBefore, runBefore, thisRun } = countIn(run, name);
      const used = { run: runBefore + thisRun, session: sessionBefore + thisRun };
      const furtherText = more > 1 ? `, ${more} more asked for` : '';
      const reached = (['run', 'session'] as const)
        .filter((kind) => used[kind] + more > (options[kind] ?? Infinity))
        .map((kind) => `${used[kind]} of ${options[kind]} used in this ${kind}${furtherText}`);
      if (!more || !reached.length) return undefined;
      const text = options.text ?? `The limit of ${what} is reached: ${reached.join('; ')}.`;
      return new AgentError('LIMIT_EXCEEDED', text, { details: { what, ...used } });
    },
    setCount(thisRun, run) {
      run.state[name] = { ...countIn(run, name), thisRun };
    },
  };
}

function countIn({ runId, resumes, state }: Run, name: string): Count {
  const count = state[name] as Count | undefined;
  if (count?.runId === runId) return count;
  const { sessionBefore = 0, runBefore = 0, thisRun = 0 } = count ?? {};
  const isResumed = count !== undefined && count.runId === resumes;
  return {
    runId,
    sessionBefore: sessionBefore + thisRun,
    runBefore: isResumed ? runBefore + thisRun : 0,
    thisRun: 0,
  };
}

/** Returns the end of an agent call at a limit. */
export function limitEnding(text: string, run: Run): Ending {
  const message = run.createMessage('assistant', text, { metadata: { reason: 'limit' } });
  return { kind: 'custom', reason: 'limit', message };
}
