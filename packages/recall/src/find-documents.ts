import {
  omitUndefined,
  isRecord,
  type RetrievedDocument,
  contextSection,
  documentsText,
  startOf,
} from '@isoloop/core/message';
import {
  type JsonObject,
  AgentError,
  errorText,
  type Awaitable,
  type MessageContext,
  type Msg,
} from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import {
  checkFields,
  either,
  func,
  natural,
  number,
  object,
  oneOf,
  optional,
  positive,
  string,
  withMethod,
  type FieldTable,
  type OptionTable,
} from '@isoloop/core/options';
import { Deadline } from '@isoloop/core/wait';
import type { Retriever } from './search/retriever.ts';
import { shortQuery, estimateTokens, type TokenProfile } from '@isoloop/core/tokens';
import type { Rerank } from './rerank.ts';
import type { ContextToken } from '@isoloop/core/tool';

/**
 * Runs one search and returns the text for the model, or an empty string if no document was found.
 * `ask` returns the query. Rejects with the retriever's error. Rejects with `STORAGE_FAILED` if the
 * retriever takes too long or does not return an array. If only the reranker fails or takes too
 * long, the documents keep their order.
 */
export async function findDocuments(
  options: RetrievalOptions,
  call: RetrievalCall,
  ask: Ask,
  report: (error: unknown) => void,
): Promise<string> {
  const { retriever, threshold = retriever.threshold ?? 0.7, timeoutMs = 10_000 } = options;
  const { rerank, topK = 10, candidates = topK, maxTokens = 4_000 } = options;
  const candidateCount = Math.max(topK, candidates);
  let who = 'retriever';
  const read = (items: unknown): readonly RetrievedDocument[] =>
    readDocuments(items, maxTokens * 8, who, report);
  const deadline = new Deadline(call.signal, timeoutMs, (ms) =>
    searchError(`The ${who} did not answer within ${ms} ms`, true),
  );
  const ownCall = { ...call, signal: deadline.signal };
  try {
    const query = await deadline.listen(() => queryOf(ownCall, ask));
    if (!query) return '';
    const results = await deadline.listen(() => retrieve(options, ownCall, query, candidateCount));
    const good = read(results).filter(({ score = threshold }) => score >= threshold);
    let documents = firstDistinct(byScore(good), candidateCount);
    if (rerank && documents.length) {
      who = 'reranker';
      const rerankCall = { query, topK, signal: deadline.signal };
      const better = await deadline
        .listen(async () => rerank(documents, rerankCall))
        .then(read)
        .catch((error: unknown) => {
          if (call.signal.aborted) throw error;
          report(error);
        });
      if (better) documents = firstDistinct(better, candidateCount);
    }
    return sectionOf(options, documents.slice(0, topK));
  } finally {
    deadline.end();
  }
}

/** Returns the query of a search. */
type Ask = (call: RetrievalCall) => Awaitable<string | undefined>;

/** Returns the query, or an empty string for no search. */
async function queryOf(call: RetrievalCall, ask: Ask): Promise<string> {
  const text = await ask(call);
  return shortQuery(text?.trim() ?? '');
}

/**
 * Asks the retriever. Throws `CONFIGURATION` for filters of the wrong kind. Filters often separate
 * tenants, so a search must not run without them by mistake.
 */
async function retrieve(
  { retriever, filters: filterOption }: RetrievalOptions,
  call: RetrievalCall,
  query: string,
  topK: number,
): Promise<unknown> {
  const { sessionId, signal } = call;
  const filters = await (typeof filterOption === 'function' ? filterOption(call) : filterOption);
  if (filters !== undefined && !isRecord(filters))
    throw new AgentError('CONFIGURATION', 'retrieval(): filters must be an object');
  return retriever.retrieve(query, { topK, signal, sessionId, ...(filters && { filters }) });
}

/**
 * Returns the valid documents of a result, each shortened to `maxLength` characters. Reports
 * invalid documents. Throws if the result is not an array.
 */
function readDocuments(
  items: unknown,
  maxLength: number,
  who: string,
  report: (error: unknown) => void,
): readonly RetrievedDocument[] {
  if (!Array.isArray(items)) throw searchError(`The ${who} returned no array`);
  const faults: string[] = [];
  const documents = items.flatMap((item: unknown, index) => {
    try {
      return readDocument(`[${index}]`, item, maxLength);
    } catch (error) {
      faults.push(errorText(error));
      return [];
    }
  });
  const [fault] = faults;
  if (fault)
    report(searchError(`The ${who} returned ${faults.length} unusable documents: ${fault}`));
  return documents;
}

/**
 * Copies a document without its empty fields, because databases return `null` for missing values.
 * Throws `CONFIGURATION` for a document that cannot be used.
 */
function readDocument(where: string, item: unknown, maxLength: number): RetrievedDocument {
  const fields = Object.entries(fieldsOf(item));
  const document = Object.fromEntries(fields.filter(([, value]) => value !== null && value !== ''));
  checkFields(where, document, documentFields);
  const { id, content, source, score, metadata } = document as unknown as RetrievedDocument;
  const start = content.trim().slice(0, maxLength);
  if (!start) throw new AgentError('CONFIGURATION', `${where}: content is blank.`);
  return {
    ...omitUndefined({ id, source, score }),
    ...(isRecord(metadata) && { metadata }),
    content: start,
  };
}

/**
 * Sorts documents by score, best first. If a document has no score, keeps the retriever's order.
 */
function byScore(documents: readonly RetrievedDocument[]): readonly RetrievedDocument[] {
  const hasScores = documents.every(({ score }) => score !== undefined);
  return hasScores ? documents.toSorted((a, b) => b.score! - a.score!) : documents;
}

/**
 * Returns the first `count` documents. Leaves out those with the id or the text of an earlier one.
 */
function firstDistinct(
  documents: readonly RetrievedDocument[],
  count: number,
): readonly RetrievedDocument[] {
  const earlierKeys = new Set<string>();
  const isNew = ({ id, content }: RetrievedDocument): boolean => {
    const text = content.replace(/\s+/g, ' ').trim();
    const keys = [`content ${text}`, `id ${id ?? text}`];
    const isKnown = keys.some((key) => earlierKeys.has(key));
    for (const key of keys) earlierKeys.add(key);
    return !isKnown;
  };
  return documents.filter(isNew).slice(0, count);
}

/**
 * Returns the documents that fit as a section of the prompt, or an empty string if there are none.
 */
function sectionOf(options: RetrievalOptions, found: readonly RetrievedDocument[]): string {
  const { maxTokens = 4_000, profile, format = documentsText } = options;
  const documents = fittingDocuments(found, maxTokens, profile, format);
  const text = documents.length ? format(documents) : '';
  return text.trim() && contextSection(text);
}

function searchError(message: string, retryable = false): AgentError {
  return new AgentError('STORAGE_FAILED', message, { retryable });
}

/**
 * Returns the documents whose text together has at most `maxTokens` tokens, in the given order.
 * Skips documents that do not fit. If no document has been chosen so far, shortens such a document
 * instead.
 */
export function fittingDocuments(
  documents: readonly RetrievedDocument[],
  maxTokens: number,
  profile?: TokenProfile,
  format: NonNullable<RetrievalOptions['format']> = documentsText,
): readonly RetrievedDocument[] {
  const result: RetrievedDocument[] = [];
  const fits = (more: RetrievedDocument): boolean =>
    estimateTokens(format([...result, more]), profile) <= maxTokens;
  for (const document of documents) {
    if (fits(document)) result.push(document);
    else if (!result.length) {
      const fitsAs = (content: string): boolean => fits({ ...document, content });
      const content = longestStart(document.content, fitsAs);
      if (content) result.push({ ...document, content });
    }
  }
  return result;
}

/**
 * Returns the longest start of a text that fits, with an ellipsis. Returns an empty string if not
 * even one character fits.
 */
function longestStart(text: string, fits: (start: string) => boolean): string {
  let [low, high] = [0, text.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(`${startOf(text, middle)}…`)) low = middle;
    else high = middle;
  }
  return low > 0 ? `${startOf(text, low)}…` : '';
}

/** The agent call that needs documents. */
export interface RetrievalCall {
  readonly sessionId: string;
  readonly signal: AbortSignal;
  /** Messages of the conversation. The newest message is last. */
  readonly messages: readonly Msg[];
  /**
   * Returns the value for a token in the `toolContext` of the agent call, else of the agent. Throws
   * `CONFIGURATION` if both have no value.
   */
  get<T>(token: ContextToken<T>): T;
}

/** Which documents `retrieval()` searches, when, and how the model gets them. */
export interface RetrievalOptions extends MessageContext {
  readonly retriever: Retriever;
  /**
   * Who searches. `auto` (default): every agent call searches before its first model request.
   * `tool`: the model searches with the tool `search_documents`. `both`: all of this.
   */
  readonly mode?: 'auto' | 'tool' | 'both';
  /**
   * Maximum number of documents that one search returns. Of documents with the same id or the same
   * content, only the best one counts. Default: 10. Source: Arc Reactor.
   */
  readonly topK?: number;
  /**
   * Number of documents to request from the retriever, so that `rerank` can choose from them.
   * Default: the value of `topK`.
   */
  readonly candidates?: number;
  /**
   * Minimum score of a document. Default: the threshold of the retriever, else 0.7. Documents
   * without a score are always used. Source: Arc Reactor.
   */
  readonly threshold?: number;
  /**
   * Maximum number of estimated tokens of the documents' text. The best documents come first.
   * Default: 4,000. Source: Arc Reactor.
   */
  readonly maxTokens?: number;
  /** Token profile that estimates the text. Default: `arc`. */
  readonly profile?: TokenProfile;
  /**
   * Filters for the retriever, or a function that returns them. If the function throws or returns a
   * value that is neither an object nor `undefined`, the search does not run.
   */
  readonly filters?: JsonObject | ((call: RetrievalCall) => Awaitable<JsonObject | undefined>);
  /**
   * Returns the query for the search before an agent call. A blank query runs no search. Default:
   * the text of the input's last user message.
   */
  readonly query?: (input: readonly Msg[], call: RetrievalCall) => Awaitable<string | undefined>;
  /**
   * Sorts the documents again, for example `mmrRerank()`. If `rerank` fails or takes too long, the
   * documents keep their order.
   */
  readonly rerank?: Rerank;
  /**
   * Returns the text of the documents, which is put between tags. Default: `documentsText`. Gets
   * fewer or shorter documents until the text has at most `maxTokens`.
   */
  readonly format?: (documents: readonly RetrievedDocument[]) => string;
  /**
   * Place of the documents that are found before an agent call. `user`: a user message before the
   * conversation. `system`: the end of the system prompt. Default: the agent's `retrievalRole`,
   * else `user`, for the same reason as in `longTermMemory()`.
   */
  readonly role?: 'user' | 'system';
  /**
   * Name and description of the search tool. If an agent has two search tools, they need different
   * names.
   */
  readonly tool?: { readonly name?: string; readonly description?: string };
  /** Maximum time for one search, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
  /**
   * Function that gets failures and invalid documents. The agent call continues. Default:
   * `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

const documentFields: FieldTable<RetrievedDocument> = {
  content: string,
  id: optional(string),
  source: optional(string),
  score: optional(number),
};

export const retrievalOptions: OptionTable<RetrievalOptions> = {
  retriever: withMethod('retrieve'),
  mode: optional(oneOf('auto', 'tool', 'both')),
  topK: optional(natural),
  candidates: optional(natural),
  threshold: optional(number),
  maxTokens: optional(positive),
  timeoutMs: optional(positive),
  profile: optional(withMethod('countText')),
  filters: optional(either(object, func)),
  query: optional(func),
  rerank: optional(func),
  format: optional(func),
  onError: optional(func),
  generateId: optional(func),
  now: optional(func),
  role: optional(oneOf('user', 'system')),
  tool: optional(object),
};
