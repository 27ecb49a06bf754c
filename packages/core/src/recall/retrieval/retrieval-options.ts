import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { MessageContext } from '../../message/create-message.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { RetrievedDocument, Retriever } from './retriever.ts';
import type { Rerank } from './rerank.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextToken } from '../../tool/context-token.ts';

/** The call that needs documents. */
export interface RetrievalCall {
  readonly sessionId: string;
  readonly signal: AbortSignal;
  /** The conversation, the newest message last. */
  readonly messages: readonly Msg[];
  /**
   * Returns the value that the call, else the agent, provides for a token. Throws `CONFIGURATION`
   * if neither does.
   */
  get<T>(token: ContextToken<T>): T;
}

export interface RetrievalOptions extends MessageContext {
  readonly retriever: Retriever;
  /**
   * `auto` (default): searches before each call. `tool`: the model searches with
   * `search_documents`. `both`: both.
   */
  readonly mode?: 'auto' | 'tool' | 'both';
  /** Maximum number of documents of one search; default 10 (Arc Reactor). */
  readonly topK?: number;
  /** Documents to request from the retriever, for `rerank` to choose from; default `topK`. */
  readonly candidates?: number;
  /**
   * The lowest score of a document to use. Default: the retriever's own threshold, else 0.7 (Arc
   * Reactor). Documents without a score are always used.
   */
  readonly threshold?: number;
  /**
   * Maximum estimated tokens of the documents' text, best documents first; default 4,000 (Arc
   * Reactor).
   */
  readonly maxTokens?: number;
  /** The profile for estimating tokens; default `arc`. */
  readonly profile?: TokenProfile;
  /**
   * Filters for the retriever. If a function throws, or its result is neither an object nor
   * `undefined`, no search runs.
   */
  readonly filters?: JsonObject | ((call: RetrievalCall) => Awaitable<JsonObject | undefined>);
  /**
   * Returns the query of the search before a call; blank: no search. Default: the text of the
   * input's last user message.
   */
  readonly query?: (input: readonly Msg[], call: RetrievalCall) => Awaitable<string | undefined>;
  /**
   * Whether to drop duplicates: documents with the same id, the same content, or the same result of
   * the function. The best one stays. Default true.
   */
  readonly dedupe?: boolean | ((document: RetrievedDocument) => unknown);
  /**
   * Reranks the documents, for example `mmrRerank()`. If it fails or takes too long, they keep
   * their order.
   */
  readonly rerank?: Rerank;
  /**
   * Formats the documents as text, instead of `documentsText`. The result is still fenced and
   * limited to `maxTokens`.
   */
  readonly format?: (documents: readonly RetrievedDocument[]) => string;
  /**
   * The role of the message that carries the documents; default `user`, as in `longTermMemory()`.
   */
  readonly role?: 'user' | 'system';
  /** The name and description of the tool. Two such tools in one agent need different names. */
  readonly tool?: { readonly name?: string; readonly description?: string };
  /** Milliseconds for one whole search; default 10,000. */
  readonly timeoutMs?: number;
  /** Receives failures and invalid documents; the call continues. Default: `console.warn`. */
  readonly onError?: (error: AgentError) => void;
}

/** Throws `CONFIGURATION` for an invalid option. */
export function checkRetrievalOptions(options: RetrievalOptions): void {
  const where = 'retrieval()';
  const kinds =
    'retriever:retrieve() mode:auto|tool|both|? maxTokens:count|? profile:countText()|? filters:object|function|? query:function|? dedupe:boolean|function|? ' +
    'generateId:function|? now:function|? rerank:function|? format:function|? role:user|system|? tool:object|? timeoutMs:count|? onError:function|?';
  checkFields('CONFIGURATION', where, options, kinds);
  const { topK = 1, candidates = 1, threshold = 0, maxTokens = 1, timeoutMs = 1 } = options;
  const wrong = (what: string): AgentError => new AgentError('CONFIGURATION', `${where}: ${what}`);
  for (const [name, count] of Object.entries({ topK, candidates })) {
    if (!(Number.isInteger(count) && count > 0))
      throw wrong(`${name} must be a whole number above 0`);
  }
  if (Array.isArray(options.filters)) throw wrong('filters must be an object or a function');
  if (!Number.isFinite(threshold)) throw wrong('threshold must be a number');
  if (!(maxTokens > 0)) throw wrong('maxTokens must be a number above 0');
  if (!(timeoutMs > 0)) throw wrong('timeoutMs must be a number above 0');
}
