import type { Awaitable, Msg, PendingCall } from '@isoloop/core';
import type { Verdict } from '@isoloop/core/middleware';
import { pagePart, type PagePart } from './page-part.ts';

/** Context that `decide` gets besides the call. */
export interface ApprovalContext {
  readonly sessionId: string;
  readonly messages: readonly Msg[];
  /** Aborts when the answer is no longer wanted: the call was aborted, or its time is up. */
  readonly signal: AbortSignal;
}

/** Worker to page. */
export interface ApprovalQuestion {
  readonly call: PendingCall;
  readonly context: Omit<ApprovalContext, 'signal'>;
}

/**
 * Lets the page decide about tool calls while the run waits; for `connectAgent`'s `page`. The agent
 * asks with `humanInTheLoop({ decide: page.decide })`. If `decide` returns nothing or the page
 * leaves, the call suspends.
 */
export function pageApprovals(
  decide: (call: PendingCall, context: ApprovalContext) => Awaitable<Verdict | undefined>,
): PagePart {
  return pagePart<ApprovalQuestion>({ kind: 'approvals' }, ({ call, context }, { signal }) =>
    decide(call, { ...context, signal }),
  );
}
