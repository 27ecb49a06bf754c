import type { ContextPolicy } from '../src/loop/context-policy.ts';
import { fitInTurn } from '../src/loop/fit-request.ts';

/** Combines context policies as the loop does. */
export function inTurn(...policies: readonly ContextPolicy[]): ContextPolicy {
  return { fit: (request) => fitInTurn(policies, request) };
}
