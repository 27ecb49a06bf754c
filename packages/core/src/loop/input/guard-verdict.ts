import type { Decision } from '../../event/pending-call.ts';
import type { Verdict } from '../admission/verdict.ts';
import { runOf } from '../run/run-view.ts';
import type { RunContext } from '../run/run-context.ts';
import { claimsOf, judge } from './guard-input.ts';

/**
 * Passes the texts of a verdict through the guards: the reason of a rejection and edited arguments.
 * Returns the verdict as the guards left it. Rejects with the guard's error if a guard rejects it.
 */
export async function guardVerdict(
  context: RunContext,
  toolUseId: string,
  verdict: Verdict,
): Promise<Verdict> {
  const run = runOf(context);
  const decisions: Decision[] = [{ ...verdict, toolUseId }];
  const claims = claimsOf(run, decisions);
  if (!claims.length) return verdict;
  await judge(run, claims);
  const { toolUseId: _id, ...judged } = decisions[0]!;
  return judged as Verdict;
}
