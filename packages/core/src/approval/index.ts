export type { ApprovalRule, ApprovalRules } from './approval-rules.ts';
export { approvals } from './approvals.ts';
export type { ApprovalsOptions } from './approvals.ts';
export type { ApprovalContext, ApprovalDecision, Decide } from './ask-approver.ts';
export { closeOpenCalls } from './close-open-calls.ts';
export type { CloseOpenCallsOptions } from './close-open-calls.ts';
