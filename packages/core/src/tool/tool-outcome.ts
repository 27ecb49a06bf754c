import type { PendingCall } from '../event/pending-call.ts';
import type { ToolResult } from '../message/content-block.ts';
import type { JsonObject } from '../message/json/json.ts';

/** Outcome of a tool call. Without a result, the tool call stays open. */
export type ToolOutcome = ToolResult | Suspension | NotStarted;

/** Outcome of a tool call that waits for somebody. */
export interface Suspension {
  /** Reason for the wait. Empty if there is none. */
  readonly suspended: string;
  /** What the tool call waits for. Default: `suspended`, because the tool asked to wait. */
  readonly kind?: PendingCall['kind'];
  /** Whether the tool is a child agent that waits only for approvals. */
  readonly forApproval?: true;
  readonly details?: JsonObject;
}

/** Outcome of a tool call whose tool has not started. */
export interface NotStarted {
  readonly notStarted: true;
}

/** Outcome that leaves a tool call open. The next model request closes it as interrupted. */
export const notStarted: NotStarted = { notStarted: true };

/** Returns whether a tool call has a result. */
export function isResult(outcome: ToolOutcome): outcome is ToolResult {
  return 'type' in outcome;
}

/** Returns whether a value, which a tool or a wrapper made, is a suspension. */
export function isSuspension(value: unknown): value is Suspension {
  return typeOf(value, 'suspended') === 'string';
}

export function isNotStarted(value: unknown): value is NotStarted {
  return typeOf(value, 'notStarted') === 'boolean';
}

function typeOf(value: unknown, field: string): string {
  try {
    return typeof (value as Record<string, unknown> | undefined)?.[field];
  } catch {
    return 'undefined';
  }
}
