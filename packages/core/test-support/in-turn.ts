import type { ContextPolicy } from '../src/loop/context-policy.ts';
import { fitInTurn } from '../src/loop/fit-request.ts';

/** Context policies as the loop runs them. */
export function inTurn(...policies: readonly ContextPolicy[]): ContextPolicy {
  return { fit: (request) => fitInTurn(policies, request) };
}
