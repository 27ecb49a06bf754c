import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { natural, optional, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { pickFields, type JsonObject } from '../../message/json.ts';
import { objectInput } from '../../schema/schema.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import { tool, type Tool } from '../../tool/tool.ts';
import type { LargeResultStore } from './large-result-store.ts';

export const readToolName = 'read_result';

/**
 * Returns the tool that reads stored results. It returns a range of lines, or the lines that
 * contain a text.
 */
export function readResultTool(
  store: LargeResultStore,
  maxTokens: number,
  profile: TokenProfile,
): Tool {
  return tool({
    name: readToolName,
    description:
      'Reads a tool result that was too long for the conversation: ' +
      'lines from a given number, or the lines that contain a text. ' +
      'Search before you read page by page.',
    input: objectInput(inputFields, ['id']),
    replay: 'safe',
    async execute(input, context) {
      const { id, from = 1, lines: maxLines = 100, query } = readInput(input);
      const text = await store.read(context, id);
      if (text === undefined) throw new AgentError('NOT_FOUND', `There is no result "${id}".`);
      const lines = linesOf(text);
      const matchingLines = query ? findLines(lines, query) : undefined;
      const lineIndexes = matchingLines ?? [...lines.keys()];
      const numbers = lineIndexes.filter((index) => index + 1 >= from);
      const shownLines = numbers.slice(0, maxLines).map((index) => `${index + 1}: ${lines[index]}`);
      const size = Math.max(1, countFitting(shownLines, maxTokens, profile));
      const page = shownLines.slice(0, size);
      const nextIndex = numbers[page.length];
      const count = `${lines.length} lines`;
      const of = matchingLines ? `${matchingLines.length} of ${count} contain it` : count;
      const more =
        nextIndex === undefined ? 'No more after these.' : `Continue with from: ${nextIndex + 1}.`;
      return [...page, `[${of}. ${more}]`].join('\n');
    },
  });
}

interface ReadInput {
  readonly id: string;
  readonly from?: number;
  readonly lines?: number;
  readonly query?: string;
}

/**
 * Reads the arguments of the tool call. Some models send `null` or `""` for omitted fields. Throws
 * `INVALID_INPUT`, and the model gets the message.
 */
function readInput(input: unknown): ReadInput {
  const isSet = (_key: string, value: unknown): boolean => value !== null && value !== '';
  const fields = pickFields(Object(input) as object, isSet);
  checkFields(readToolName, fields, readInputKinds, 'INVALID_INPUT');
  return fields as ReadInput;
}

const readInputKinds: OptionTable<ReadInput> = {
  id: string,
  from: optional(natural),
  lines: optional(natural),
  query: optional(string),
};

const inputFields: JsonObject = {
  id: { type: 'string', description: 'The id from the shortened result.' },
  from: { type: 'integer', minimum: 1, description: 'The first line. Default: 1.' },
  lines: { type: 'integer', minimum: 1, description: 'Maximum number of lines. Default: 100.' },
  query: { type: 'string', description: 'Returns only lines that contain this text.' },
};

/**
 * Returns the indexes of the lines that contain a text. Case and character width do not count. A
 * match may end in the next line, which may be a piece of the same one.
 */
function findLines(lines: readonly string[], query: string): readonly number[] {
  const foldedQuery = normalize(query);
  const foldedLines = lines.map(normalize);
  return foldedLines.flatMap((line, index) => {
    const next = foldedLines[index + 1] ?? '';
    const isSplit = !next.includes(foldedQuery) && (line + next).includes(foldedQuery);
    return isSplit || line.includes(foldedQuery) ? index : [];
  });
}

/** Normalizes case and character width, so that texts that look the same compare equal. */
function normalize(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/**
 * Returns the lines of a text. Splits a line over 1,000 characters, such as JSON without breaks.
 */
export function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => line.match(/.{1,1000}/gsu) ?? '');
}

/** Returns the number of texts, from the first, that together have at most `maxTokens` tokens. */
export function countFitting(
  texts: readonly string[],
  maxTokens: number,
  profile: TokenProfile,
): number {
  let tokens = 0;
  const largeIndex = texts.findIndex(
    (text) => (tokens += estimateTokens(`${text}\n`, profile)) > maxTokens,
  );
  return largeIndex < 0 ? texts.length : largeIndex;
}
