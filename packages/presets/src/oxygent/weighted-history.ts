import { stepsStart } from './steps-start.ts';
import { errorText, type Msg, AgentError } from '@isoloop/core';
import {
  checkOptions,
  func,
  nonNegative,
  oneOf,
  optional,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { arc, countMessage, type TokenProfile } from '@isoloop/core/tokens';
import { type ContextMiddleware, turnView, type Turn } from '@isoloop/core/context';
import { answerOf } from '@isoloop/core/message';

/** How much of the history `weightedHistory()` shows, and what is valuable. */
export interface WeightedHistoryOptions {
  /** Weight of a question with its answer. Default: 5 (OxyGent: `weight_short_memory`). */
  readonly shortWeight?: number;
  /**
   * Weight of a step: an assistant message and the messages after it, up to the next step. Default:
   * 1 (OxyGent: `weight_react_memory`).
   */
  readonly reactWeight?: number;
  /**
   * Returns the value of a position in the history. Position 1 is the oldest. A question with its
   * answer, or a step, is ranked by this value times its weight. Default: returns the position, so
   * that recent messages rank higher (OxyGent: `func_map_memory_order`).
   */
  readonly order?: (position: number) => number;
  /**
   * Maximum size of all earlier turns together, in `unit`. Default: 24,800 (OxyGent:
   * `memory_max_tokens`, which counts characters).
   */
  readonly max?: number;
  /**
   * Unit of `max`: characters (default) or estimated tokens. Characters are the code points of
   * texts, tool calls and tool results.
   */
  readonly unit?: 'characters' | 'tokens';
  /** Token profile for the unit `tokens`. Default: `arc`. */
  readonly profile?: TokenProfile;
}

/** A question with its answer, or a step. A piece is shown as a whole or left out. */
export interface Piece {
  /** The question of a step. Absent for a question. */
  readonly question?: Piece;
  readonly messages: Turn;
  /** Messages after the turn's steps, such as the answer. */
  readonly closing: Turn;
  readonly size: number;
}

/**
 * Shows the model the most valuable parts of earlier turns: questions with their answers, and the
 * steps between them. The parts stay in the log's order (OxyGent: `_get_history` with
 * `is_discard_react_memory=False`). Tool calls stay with their results. The current turn stays
 * whole and does not count toward `max`. To limit the number of turns too, put `lastTurns` before
 * this policy. Throws `CONFIGURATION` for an option of the wrong kind. An agent call fails with
 * `CONFIGURATION` if `order` throws or does not return a number.
 */
export function weightedHistory(options: WeightedHistoryOptions = {}): ContextMiddleware {
  return valuablePieces('weightedHistory()', options, {
    toMeasure: (messages) => messages,
    select: takeFitting,
  });
}

/** How the pieces of a history are measured and selected. */
interface PieceRules {
  /** Returns the messages to measure in place of those of a piece. */
  toMeasure(messages: Turn): Turn;
  /** Returns the pieces that the model sees. `rankedPieces`: the most valuable one is the first. */
  select(rankedPieces: readonly Piece[], max: number): ReadonlySet<Piece>;
}

/**
 * Creates the context policy of `weightedHistory()`. Throws `CONFIGURATION` for an option of the
 * wrong kind. `where`: beginning of its errors.
 */
export function valuablePieces(
  where: string,
  options: WeightedHistoryOptions,
  { toMeasure, select }: PieceRules,
): ContextMiddleware {
  checkOptions(where, options, weightedHistoryOptions);
  const { shortWeight = 5, reactWeight = 1, order = (position) => position } = options;
  const { max = 24_800, unit = 'characters' } = options;
  if (options.profile && unit !== 'tokens')
    throw new AgentError('CONFIGURATION', `${where}: \`profile\` works only with unit: "tokens".`);
  const profile = unit === 'tokens' ? (options.profile ?? arc) : characters;
  const withTextOnly = textFilter();
  const sizeOf = (messages: Turn): number =>
    toMeasure(messages).reduce((sum, message) => sum + countMessage(message, profile), 0);

  return turnView('weightedHistory', (turns) => {
    const pieces = turns.flatMap((turn) => piecesOf(turn, sizeOf, withTextOnly));
    const worths = pieces.map(({ question }, index) => {
      const weight = question ? reactWeight : shortWeight;
      return worthOf(where, order, index + 1) * weight;
    });
    const positions = [...pieces.keys()].toSorted((a, b) => worths[b]! - worths[a]!);
    const ranked = positions.map((position) => pieces[position]!);
    const visible = select(ranked, max);
    return toTurns(pieces.filter((piece) => visible.has(piece)));
  });
}

/**
 * Creates a function that returns a message with only its texts, or an empty list if it has none.
 * Equal calls return the same object, because token counts are cached on it.
 */
function textFilter(): (message: Msg) => Turn {
  const shown = new WeakMap<Msg, Turn>();
  return (message) => {
    const known = shown.get(message);
    if (known) return known;
    const content = message.content.filter(({ type }) => type === 'text');
    const isWhole = content.length === message.content.length;
    const text = isWhole ? message : { ...message, content };
    const filtered = content.length ? [text] : [];
    shown.set(message, filtered);
    return filtered;
  };
}

/**
 * Counts code points, as Python does. A tool call counts by its name and arguments. Media does not
 * count.
 */
const characters: TokenProfile = {
  name: 'characters',
  perMessage: 0,
  perToolCall: 0,
  perMedia: 0,
  countText(text) {
    let count = 0;
    for (const _ of text) count += 1;
    return count;
  },
};

/** Splits a turn into pieces: first the question with the answer, then the steps. */
function piecesOf(
  turn: Turn,
  sizeOf: (messages: Turn) => number,
  textIn: (message: Msg) => Turn,
): readonly Piece[] {
  const stepsIndex = stepsStart(turn);
  const answer = answerOf(turn);
  const end = answer ? turn.lastIndexOf(answer) : turn.length;
  const questions = turn.slice(0, stepsIndex);
  const closing = [...(answer ? textIn(answer) : []), ...turn.slice(end + 1)];
  const size = sizeOf([...questions, ...closing]);
  const question: Piece = { messages: questions, closing, size };
  const steps: Msg[][] = [];
  for (const message of turn.slice(stepsIndex, end)) {
    if (message.role === 'assistant' || !steps.length) steps.push([]);
    steps.at(-1)!.push(message);
  }
  const step = (messages: Turn): Piece => {
    return { question, messages, closing: [], size: sizeOf(messages) };
  };
  return [question, ...steps.map(step)];
}

const weightedHistoryOptions: OptionTable<WeightedHistoryOptions> = {
  shortWeight: optional(nonNegative),
  reactWeight: optional(nonNegative),
  max: optional(nonNegative),
  order: optional(func),
  unit: optional(oneOf('characters', 'tokens')),
  profile: optional(withMethod('countText')),
};

/** Takes all pieces that fit. A step is taken only together with its question. */
function takeFitting(rankedPieces: readonly Piece[], max: number): ReadonlySet<Piece> {
  const pieces = new Set<Piece>();
  let remaining = max;
  for (const piece of rankedPieces) {
    const { question = piece } = piece;
    const missing = [...new Set([piece, question])].filter((each) => !pieces.has(each));
    const size = missing.reduce((sum, each) => sum + each.size, 0);
    if (size > remaining) continue;
    remaining -= size;
    for (const each of missing) pieces.add(each);
  }
  return pieces;
}

/**
 * Puts each step under the shown question before it. Leaves out steps before the first question.
 */
function toTurns(visiblePieces: readonly Piece[]): readonly Turn[] {
  const starts = visiblePieces.flatMap(({ question }, index) => (question ? [] : index));
  return starts.map((start, index) => {
    const pieces = visiblePieces.slice(start, starts[index + 1]);
    return [...pieces.flatMap(({ messages }) => messages), ...visiblePieces[start]!.closing];
  });
}

function worthOf(where: string, order: (position: number) => unknown, position: number): number {
  const call = `${where}: order(${position})`;
  let worth: unknown;
  try {
    worth = order(position);
  } catch (cause) {
    throw new AgentError('CONFIGURATION', `${call} failed: ${errorText(cause)}.`, { cause });
  }
  if (typeof worth === 'number' && Number.isFinite(worth)) return worth;
  throw new AgentError('CONFIGURATION', `${call} must return a number; got ${String(worth)}.`);
}
