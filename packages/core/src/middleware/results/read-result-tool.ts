import { AgentError, invalidInput } from '../../error/agent-error.ts';
import { startOf } from '../../message/shorten-text.ts';
import type { JsonObject } from '../../message/json/json.ts';
import { objectInput } from '../../schema/object-input.ts';
import type { LargeResultStore } from './large-result-store.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import { tool, type Tool } from '../../tool/tool.ts';

interface ReadResultOptions {
  readonly store: LargeResultStore;
  /** Maximum number of estimated tokens in one answer. An answer always has at least one line. */
  readonly maxTokens: number;
  readonly profile: TokenProfile;
}

export const readToolName = 'read_result';

/**
 * Returns the tool that reads stored results. It returns a range of lines, or the lines that
 * contain a text.
 */
export function readResultTool({ store, maxTokens, profile }: ReadResultOptions): Tool {
  return tool({
    name: readToolName,
    description:
      'Reads a tool result that was too long for the conversation: lines from a given number, or the lines that contain a text. Search before you read page by page.',
    input: objectInput(fields, ['id']),
    replay: 'safe',
    async execute(input, { sessionId }) {
      const { id, from = 1, lines: most = 100, query } = readInput(input);
      const text = await store.read(sessionId, id);
      if (text === undefined) throw new AgentError('NOT_FOUND', `There is no result "${id}".`);
      const lines = linesOf(text);
      const found = query === undefined ? undefined : findLines(lines, query);
      const all = found ?? [...lines.keys()];
      const numbers = all.filter((index) => index + 1 >= from);
      const shown = numbers.slice(0, most).map((index) => `${index + 1}: ${lines[index]}`);
      const page = shown.slice(0, Math.max(1, fitting(shown, maxTokens, profile)));
      const next = numbers[page.length];
      const count = `${lines.length} lines`;
      const of = found ? `${found.length} of ${count} contain it` : count;
      const more = next === undefined ? 'No more after these.' : `Continue with from: ${next + 1}.`;
      return [...page, `[${of}. ${more}]`].join('\n');
    },
  });
}

interface ReadInput {
  readonly id: string;
  readonly from: number | undefined;
  readonly lines: number | undefined;
  readonly query: string | undefined;
}

/**
 * Reads the arguments of the tool call. Some models send `null` or `""` for omitted fields, and
 * numbers as text. Throws `INVALID_INPUT`, and the model gets the message.
 */
function readInput(input: unknown): ReadInput {
  const given = Object(input) as Readonly<Record<string, unknown>>;
  const numberOf = (key: string): number | undefined => {
    const value = given[key] ?? undefined;
    if (value === undefined || value === '') return undefined;
    const number = Number(value);
    if (Number.isInteger(number) && number >= 1) return number;
    throw invalidInput(`${key}: a whole number of 1 or more`);
  };
  const { id, query } = given;
  if (typeof id !== 'string') throw invalidInput('id: the id of the result, a string');
  if (typeof (query ?? '') !== 'string') throw invalidInput('query: a text');
  const text = (query as string | null | undefined) || undefined;
  return { id, from: numberOf('from'), lines: numberOf('lines'), query: text };
}

const fields: JsonObject = {
  id: { type: 'string', description: 'The id from the shortened result.' },
  from: { type: 'integer', minimum: 1, description: 'The first line. Default 1.' },
  lines: { type: 'integer', minimum: 1, description: 'Maximum number of lines. Default 100.' },
  query: { type: 'string', description: 'Returns only lines that contain this text.' },
};

/** Maximum length of a line, in characters. A longer line, such as JSON without breaks, is split. */
const longest = 1_000;

export function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => {
    const pieces = [startOf(line, longest)];
    let length = pieces[0]!.length;
    while (length < line.length) {
      const piece = startOf(line.slice(length), longest);
      pieces.push(piece);
      length += piece.length;
    }
    return pieces;
  });
}

/**
 * Returns the indexes of the lines that contain a text. Case and character width do not count. A
 * match may end in the next piece of a line that was split.
 */
function findLines(lines: readonly string[], query: string): readonly number[] {
  const wanted = fold(query);
  const folded = lines.map(fold);
  return folded.flatMap((line, index) => {
    if (line.includes(wanted)) return index;
    const isSplit = lines[index]!.length >= longest - 1;
    const next = isSplit ? (folded[index + 1] ?? '') : '';
    const seam = line.slice(-wanted.length) + next.slice(0, wanted.length);
    return seam.includes(wanted) && !next.includes(wanted) ? index : [];
  });
}

/** Returns the number of texts, from the first, that together have at most `maxTokens` tokens. */
export function fitting(
  texts: readonly string[],
  maxTokens: number,
  profile: TokenProfile,
): number {
  let tokens = 0;
  const over = texts.findIndex(
    (text) => (tokens += estimateTokens(`${text}\n`, profile)) > maxTokens,
  );
  return over < 0 ? texts.length : over;
}

/** Normalizes case and character width, so that texts that look the same compare equal. */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
