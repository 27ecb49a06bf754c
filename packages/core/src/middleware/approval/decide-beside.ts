import type { Middleware } from '../../agent/middleware.ts';
import type { Decision } from '../../event/pending-call.ts';

/** Adds decisions about the open tool calls to an input with new messages. */
export function decideBeside(decisions: readonly Decision[]): Middleware {
  return {
    wrapInput: (next) => (input, context) => {
      const isNew = input.messages.some(({ role }) => role !== 'tool');
      const all = isNew ? { ...input, decisions: [...input.decisions, ...decisions] } : input;
      return next(all, context);
    },
  };
}
