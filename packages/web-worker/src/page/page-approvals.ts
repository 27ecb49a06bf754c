import type { Awaitable, Msg, PendingCall } from '@isoloop/core';
import type { Verdict } from '@isoloop/core/middleware';
import { pagePart, type PagePart } from './page-part.ts';

/** What a page that decides is told besides the call. */
export interface ApprovalContext {
  readonly sessionId: string;
  readonly messages: readonly Msg[];
  /** Raised when the answer is not wanted any more: the call was aborted, or its time is up. */
  readonly signal: AbortSignal;
}

/** Worker to page. */
export interface ApprovalQuestion {
  readonly call: PendingCall;
  readonly context: Omit<ApprovalContext, 'signal'>;
}

/**
 * Has the page decide about tool calls while the run waits, for `connectAgent`'s `page`; the agent
 * asks with `humanInTheLoop({ decide: page.decide })`. Nothing given back: the call suspends, as it
 * does when the page leaves.
 */
export function pageApprovals(
  decide: (call: PendingCall, context: ApprovalContext) => Awaitable<Verdict | undefined>,
): PagePart {
  return pagePart<ApprovalQuestion>({ kind: 'approvals' }, ({ call, context }, { signal }) =>
    decide(call, { ...context, signal }),
  );
}
