import type { Decision } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import type { Jump } from '../jump.ts';
import { rest } from '../run/rest.ts';
import type { Run } from '../run/run.ts';
import { admitCall, startsNoTool, type Admission, type ReadyAdmission } from './admit-call.ts';
import { conclude, refuseCalls } from './close-calls.ts';
import { decideCall } from './decide-call.ts';
import { pendingCalls } from './pending-calls.ts';

export interface Round {
  /** Decisions about tool calls of an earlier run. */
  readonly decisions: readonly Decision[] | undefined;
  /** Jumps that hooks request. */
  readonly asked: Jump[];
  /** Returns whether a hook asked to end the agent call. */
  readonly isStopped: () => boolean;
}

/**
 * Runs `admitCall` for each open tool call in order, and stores the results of the tool calls that
 * end here. Returns the tool calls that are ready to start. After a `stop`, admits no further tool
 * call.
 *
 * The `hold` of a middleware may name tool calls that need a decision first. Until they have
 * decisions, all other tool calls are deferred: they stay open, and hooks do not see them.
 */
export async function admitRound(
  run: Run,
  { decisions, asked, isStopped }: Round,
): Promise<readonly ReadyAdmission[]> {
  const ready: ReadyAdmission[] = [];
  const decided = new Map(decisions?.map((decision) => [decision.toolUseId, decision]));
  const take = async (admission: Admission): Promise<void> => {
    if (admission.type === 'stopped') asked.push({ at: 'pre-acting', to: 'stop' });
    if (admission.type === 'ready') ready.push(admission);
    if (admission.type === 'result')
      await conclude(run, admission.toolUse, admission.result, { asked });
  };
  const admit = async (calls: readonly ToolUse[]): Promise<void> => {
    for (const call of calls) {
      const turn = rest(run);
      if (turn) await turn;
      if (!isStopped()) await take(await admitCall(run, call, decided.get(call.id)));
    }
  };
  await refuseCalls(run, new Set(decided.keys()));

  const calls = run.openCalls();
  const holding = run.setup.use.findLast(({ hold }) => hold);
  const named = await run.waits.code(holding?.hold?.(calls, run.context));
  if (!named) {
    await admit(calls);
    return ready;
  }
  // No tool of a deferred round has started. Its only results are rejections.
  if (named.length && !hasResult(run)) {
    const { calls: states } = run.setup.status;
    for (const { id } of calls) if (!states.has(id)) states.set(id, {});
  }
  const first = named.filter(({ id }) => !decided.has(id));
  const isDeferred = ({ id }: ToolUse): boolean =>
    first.length > 0 && !decided.has(id) && !first.some((call) => call.id === id);
  // Hooks may change any tool call so that it needs a decision, even one that `hold` did not name.
  for (const part of [calls.filter((call) => !isDeferred(call)), calls.filter(isDeferred)]) {
    await admit(part);
    if (isStopped() || startsNoTool(run)) return [];
    const asking = ready.splice(0).map((one) => decideCall(run, one));
    for (const admission of await Promise.all(asking)) await take(admission);
    if (pendingCalls(run).some(({ kind }) => kind === 'approval')) return [];
  }
  return calls.flatMap(({ id }) => ready.filter(({ open }) => open.toolUse.id === id));
}

/** Returns whether a tool call of the last reply has a result that is not a rejection. */
function hasResult({ view }: Run): boolean {
  const reply = view.findLastIndex(({ role }) => role === 'assistant');
  const results = view.slice(reply + 1).flatMap(toolResultsOf);
  return results.some(({ state }) => state !== 'denied');
}
