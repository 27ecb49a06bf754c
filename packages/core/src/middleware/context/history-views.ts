import { checkFields } from '../../error/check-fields.ts';
import { isCorrection } from '../../message/metadata-keys.ts';
import type { ContextMiddleware } from './context-policy.ts';
import { isText, messageParts, turnView } from './turn-view.ts';
import { answerOf, isAnswered } from '../../message/turns.ts';

/**
 * Hides from the model the turns of earlier agent calls that did not end with an answer. Such a
 * turn failed, was aborted or interrupted, or stopped at a tool call. Arc Reactor also keeps only
 * successful runs. Input that a guard rejects is never part of the history.
 */
export function successfulTurns(): ContextMiddleware {
  return turnView('successfulTurns', (turns) => turns.filter(isAnswered));
}

/**
 * Shows the model only the last `count` turns before the current one (Arc Reactor:
 * `maxConversationTurns`, 10; OxyGent: `short_memory_size`, 10). Throws `CONFIGURATION` unless
 * `count` is a whole number of 0 or more.
 */
export function lastTurns(count: number): ContextMiddleware {
  checkFields('lastTurns()', { count }, 'count:whole');
  return turnView('lastTurns', (turns) => (count ? turns.slice(-count) : []));
}

/**
 * Shows the model only the question and the answer text of each earlier turn. Leaves out tool
 * calls, tool results and thinking (Arc Reactor's history; OxyGent: `is_discard_react_memory`).
 */
export function answersOnly(): ContextMiddleware {
  const partOf = messageParts();
  return turnView('answersOnly', (turns) =>
    turns.map((turn) => {
      const answer = answerOf(turn);
      return turn.flatMap((message) => {
        if (message === answer) return partOf(answer, isText);
        if (isCorrection(message)) return [];
        // A user's message may hold tool results. Their tool calls are not shown, so the results
        // are left out too.
        if (message.role === 'user') return partOf(message, ({ type }) => type !== 'tool_result');
        return message.role === 'system' ? [message] : [];
      });
    }),
  );
}
