import type { Msg } from '@isoloop/core';
import type { ContextMiddleware, Turn } from '@isoloop/core/context';
import { type Piece, type WeightedHistoryOptions, valuablePieces } from './weighted-history.ts';
import { textHistory } from '@isoloop/core/message';

/**
 * Same as `weightedHistory()`, but selects exactly as OxyGent does. Selection stops at the first
 * piece that does not fit, even if a smaller piece would fit. A step whose question is left out
 * appears under the question before it. A step is measured as the text protocol writes it: the
 * model's reply without thinking, followed by `Tool [name] execution result: …`. Throws
 * `CONFIGURATION` as `weightedHistory()` does.
 */
export function oxygentHistory(options: WeightedHistoryOptions = {}): ContextMiddleware {
  const rules = { toMeasure: writtenForm(), select: takeFirst };
  return valuablePieces('oxygentHistory()', options, rules);
}

/** Makes a function that returns messages as a text protocol shows them, without thinking. */
function writtenForm(): (messages: Turn) => Turn {
  const history = textHistory([]);
  return (messages) => history(messages).map(withoutThinking);
}

function withoutThinking(message: Msg): Msg {
  return { ...message, content: message.content.filter(({ type }) => type !== 'thinking') };
}

/** Takes pieces in order, up to the first piece that does not fit. */
function takeFirst(rankedPieces: readonly Piece[], max: number): ReadonlySet<Piece> {
  let remaining = max;
  const end = rankedPieces.findIndex(({ size }) => (remaining -= size) < 0);
  return new Set(end < 0 ? rankedPieces : rankedPieces.slice(0, end));
}
