import { AgentError, checkFields, checkOptions, fieldOf } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { EventOf } from '../../event/agent-event.ts';
import { textOf, type ToolResult } from '../../message/msg.ts';
import type { KeyValueStore } from '../../memory/store/key-value-store.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { keyPrefix } from '../../memory/store/storage-keys.ts';
import { joinValue, splitValue } from '../../memory/store/split-value.ts';
import { parseJson, pickFields, type JsonObject } from '../../message/json.ts';
import { objectInput } from '../../schema/schema.ts';
import { tool, type Tool } from '../../tool/tool.ts';

/** Which results are too large, and where their text goes. */
export interface EvictLargeResultsOptions {
  /** Store for the results. Results outlive the process if the store does. */
  readonly store: KeyValueStore;
  /**
   * Maximum number of estimated tokens of a result's text. A longer result is moved to the store.
   * Default 20,000 (Spring AI Alibaba).
   */
  readonly maxTokens?: number;
  /**
   * Number of lines that stay in the result, with at most 1,000 characters each. Default 10 (Spring
   * AI Alibaba).
   */
  readonly headLines?: number;
  /** Names of tools whose results are never shortened. */
  readonly exclude?: readonly string[];
  /** Token profile that estimates the text. Default `arc`. */
  readonly profile?: TokenProfile;
  /**
   * Function that gets the error if a result cannot be stored. Default: logs a warning to the
   * console.
   */
  readonly onError?: (error: AgentError) => void;
}

/** What `evictLargeResults()` returns: middleware that can delete the stored results. */
export interface LargeResultEviction extends Middleware {
  /**
   * Deletes the stored results of a session. Call `deleteSession` when you delete the session's
   * log. If the store's list of keys is out of date, results that were just stored may stay.
   */
  deleteSession(sessionId: string): Promise<void>;
}

/**
 * Moves the text of large tool results to a store before they enter the session log. The first
 * lines of a result stay, and so do its other blocks, such as images. The model reads the rest with
 * the tool `read_result`, by line numbers or by a search text. Hooks of other middleware get the
 * whole result first. Results belong to the session: another process with the same store and
 * `sessionId` can read them.
 *
 * If the store fails, the whole result stays and `onError` is called. If a stored result is
 * missing, `read_result` returns an error. If the result is the answer (`returnDirect`), the answer
 * contains only the first lines. Name such tools in `exclude`. Throws `CONFIGURATION` for an option
 * of the wrong kind.
 */
export function evictLargeResults(options: EvictLargeResultsOptions): LargeResultEviction {
  checkOptions('evictLargeResults()', options, optionFields);
  const { maxTokens = 20_000, headLines = 10, exclude = [], profile = arc, onError } = options;
  const store = largeResultStore(options.store);
  const exemptTools = [readToolName, ...exclude];
  const evict = async (event: EventOf<'post-acting'>) => {
    const { sessionId, toolUse, result } = event;
    const { output } = result;
    const text = typeof output === 'string' ? output : textOf(output);
    const isShort = estimateTokens(text, profile) <= maxTokens;
    if (isShort || exemptTools.includes(result.name)) return undefined;
    try {
      await store.write(sessionId, toolUse.id, text);
    } catch (error) {
      const failure = AgentError.from(error, 'STORAGE_FAILED');
      reportFailure('A large result stays in the conversation:', onError, failure);
      return undefined;
    }
    const lines = linesOf(text);
    const firstLines = lines.slice(0, headLines);
    const head = firstLines.slice(0, countFitting(firstLines, maxTokens, profile));
    const size = `It has ${lines.length} lines; these are the first ${head.length}.`;
    const more = `Read more with ${readToolName}, id "${toolUse.id}".`;
    head.push(`[This result is too long to show. ${size} ${more}]`);
    return { ...event, result: withText(result, head.join('\n')) };
  };
  return {
    name: 'evictLargeResults',
    onError: 'fail',
    // Half the limit, so that one read does not use all the tokens that the shorter result saved.
    tools: [readResultTool(store, Math.ceil(maxTokens / 2), profile)],
    // Runs after hooks that change results, so that the changed result is stored.
    on: { 'post-acting': { handle: evict, priority: 10_000 } },
    deleteSession: (sessionId) => store.delete(sessionId),
  };
}

function withText(result: ToolResult, text: string): ToolResult {
  if (typeof result.output === 'string') return { ...result, output: text };
  const others = result.output.filter(({ type }) => type !== 'text');
  return { ...result, output: [{ type: 'text', text }, ...others] };
}

const optionFields =
  'store:setMany() maxTokens:nonNegative|? headLines:whole|Infinity|? exclude:names|? profile:countText()|? ' +
  'onError:function|?';

const readToolName = 'read_result';

/**
 * Returns the tool that reads stored results. It returns a range of lines, or the lines that
 * contain a text.
 */
function readResultTool(
  store: ReturnType<typeof largeResultStore>,
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
    async execute(input, { sessionId }) {
      const { id, from = 1, lines: maxLines = 100, query } = readInput(input);
      const text = await store.read(sessionId, id);
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
  checkFields(
    readToolName,
    fields,
    'id:string from,lines:natural|? query:string|?',
    'INVALID_INPUT',
  );
  return fields as ReadInput;
}

const inputFields: JsonObject = {
  id: { type: 'string', description: 'The id from the shortened result.' },
  from: { type: 'integer', minimum: 1, description: 'The first line. Default 1.' },
  lines: { type: 'integer', minimum: 1, description: 'Maximum number of lines. Default 100.' },
  query: { type: 'string', description: 'Returns only lines that contain this text.' },
};

/**
 * Returns the lines of a text. Splits a line over 1,000 characters, such as JSON without breaks.
 */
function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => line.match(/.{1,1000}/gsu) ?? '');
}

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

/** Returns the number of texts, from the first, that together have at most `maxTokens` tokens. */
function countFitting(texts: readonly string[], maxTokens: number, profile: TokenProfile): number {
  let tokens = 0;
  const largeIndex = texts.findIndex(
    (text) => (tokens += estimateTokens(`${text}\n`, profile)) > maxTokens,
  );
  return largeIndex < 0 ? texts.length : largeIndex;
}

/** Normalizes case and character width, so that texts that look the same compare equal. */
function normalize(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Version of a stored result. Others are refused. */
const resultVersion = 2;

/**
 * Texts of results, by session and tool call. A text that is longer than the store's maximum value
 * size is split into several values.
 */
function largeResultStore(store: KeyValueStore) {
  return {
    async write(sessionId: string, toolUseId: string, text: string): Promise<void> {
      const key = keyOf(sessionId, toolUseId);
      const values = splitValue(JSON.stringify(text), store.features.maxValueBytes);
      const pieces = values.map((value, index) => [`${key}:${index}`, value] as const);
      const head = JSON.stringify({ v: resultVersion, pieces: values.length });
      // The head is written last: if it exists, all pieces exist too.
      await store.setMany([...pieces, [key, head]]);
    },
    /**
     * Returns a text, or `undefined` if the text or a piece of it is missing. Rejects with
     * `STORAGE_FAILED` if the text has another format.
     */
    async read(sessionId: string, toolUseId: string): Promise<string | undefined> {
      const key = keyOf(sessionId, toolUseId);
      const head = parseJson((await store.get(key)) ?? '');
      if (head === undefined) return undefined;
      if (fieldOf(head, 'v') !== resultVersion)
        throw new AgentError('STORAGE_FAILED', 'The stored result has another format.');
      const length = Number(fieldOf(head, 'pieces'));
      const names = Array.from({ length }, (_, index) => `${key}:${index}`);
      const values = await store.getMany(names);
      if (values.size < length) return undefined;
      return String(JSON.parse(joinValue(names.map((name) => values.get(name)!))));
    },
    async delete(sessionId: string): Promise<void> {
      await store.delete(await store.keys(keyOf(sessionId, '')));
    },
  };
}

/**
 * Returns the key of a text. The same store may hold the session log; keys of the log begin with
 * `s:`.
 */
function keyOf(sessionId: string, toolUseId: string): string {
  const [session, call] = [sessionId, toolUseId].map(encodeURIComponent);
  return `${keyPrefix.result}${session}:${call}`;
}
