import type { Awaitable, PendingCall } from '@isoloop/core';
import { checkFields, func } from '@isoloop/core/options';
import type { ApprovalContext, ApprovalDecision } from '@isoloop/core/approval';
import { pagePart, type PagePart } from './page-part.ts';

/** Message from worker to page: a pending tool call to decide about. */
export interface ApprovalPageCall {
  readonly call: PendingCall;
  readonly context: Omit<ApprovalContext, 'signal'>;
}

/**
 * Creates a part for the option `page` of `connectAgent` that lets the page decide about tool calls
 * while the run waits. The agent in the worker needs `approvals({ decide: page.decide })`. If
 * `decide` returns nothing or the page disconnects, the tool call suspends.
 */
export function pageApprovals(
  decide: (call: PendingCall, context: ApprovalContext) => Awaitable<ApprovalDecision | undefined>,
): PagePart {
  checkFields('pageApprovals()', { decide }, { decide: func });
  return pagePart<ApprovalPageCall>({ kind: 'approvals' }, ({ call, context }, { signal }) =>
    decide(call, { ...context, signal }),
  );
}
