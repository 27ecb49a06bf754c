import { type AgentError, misconfigured } from '../../../error/agent-error.ts';
import { checkOptions } from '../../../error/check-fields.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { MessageContext } from '../../../message/create-message.ts';
import type { JsonObject } from '../../../message/json/json.ts';
import type { Msg } from '../../../message/msg.ts';
import type { RetrievedDocument } from '../../../message/retrieved-document.ts';
import type { Retriever } from '../../../search/retriever.ts';
import type { Rerank } from './rerank.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import type { ContextToken } from '../../../tool/context-token.ts';

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
   * content, only the best one counts. Default: 10, as in Arc Reactor.
   */
  readonly topK?: number;
  /**
   * Number of documents to request from the retriever, so that `rerank` can choose from them.
   * Default: the value of `topK`.
   */
  readonly candidates?: number;
  /**
   * Minimum score of a document. Default: the threshold of the retriever, else 0.7 (Arc Reactor).
   * Documents without a score are always used.
   */
  readonly threshold?: number;
  /**
   * Maximum number of estimated tokens of the documents' text. The best documents come first.
   * Default: 4,000, as in Arc Reactor.
   */
  readonly maxTokens?: number;
  /** Token profile that estimates the text. Default `arc`. */
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
   * Returns the text of the documents. The text is put between tags and shortened to `maxTokens`.
   * Default: `documentsText`.
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
  /** Maximum time for one search, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * Function that gets failures and invalid documents. The agent call continues. Default:
   * `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

const fields =
  'retriever:retrieve() mode:auto|tool|both|? topK,candidates:natural|? threshold:number|? ' +
  'maxTokens,timeoutMs:positive|? profile:countText()|? filters:object|function|? ' +
  'query,rerank,format,onError,generateId,now:function|? role:user|system|? tool:object|?';

/** Throws `CONFIGURATION` for an invalid option. */
export function checkRetrievalOptions(options: RetrievalOptions): void {
  const where = 'retrieval()';
  checkOptions(where, options, fields);
  const { filters, retriever, threshold = retriever.threshold ?? 0 } = options;
  const wrong = (what: string): AgentError => misconfigured(`${where}: ${what}`);
  if (Array.isArray(filters)) throw wrong('filters must be an object or a function.');
  if (!Number.isFinite(threshold)) throw wrong('threshold must be a finite number.');
}
