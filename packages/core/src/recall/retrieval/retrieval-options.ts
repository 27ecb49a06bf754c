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

/** The call that documents are looked up for. */
export interface RetrievalCall {
  readonly sessionId: string;
  readonly signal: AbortSignal;
  /** The conversation, the newest message last. */
  readonly messages: readonly Msg[];
  /**
   * What was provided for a token by the call, else the agent. Throws `CONFIGURATION` where nothing
   * was.
   */
  get<T>(token: ContextToken<T>): T;
}

export interface RetrievalOptions extends MessageContext {
  readonly retriever: Retriever;
  /**
   * `auto` (default): before each call. `tool`: the model searches with `search_documents`. `both`.
   */
  readonly mode?: 'auto' | 'tool' | 'both';
  /** Documents at a time; default 10 (Arc Reactor). */
  readonly topK?: number;
  /** Documents that the retriever is asked for, for `rerank` to choose from; default `topK`. */
  readonly candidates?: number;
  /**
   * The score from which on a document is used; default the retriever's own, else 0.7 (Arc
   * Reactor). One without a score always is.
   */
  readonly threshold?: number;
  /**
   * Estimated tokens that the documents' text may take, the best first; default 4,000 (Arc
   * Reactor).
   */
  readonly maxTokens?: number;
  /** How tokens are estimated; default `arc`. */
  readonly profile?: TokenProfile;
  /**
   * Handed to the retriever. A function that throws, or gives what is no object, keeps the search
   * from being made.
   */
  readonly filters?: JsonObject | ((call: RetrievalCall) => Awaitable<JsonObject | undefined>);
  /**
   * What is searched for before a call; blank: nothing. Default: the text of the input's last user
   * message.
   */
  readonly query?: (input: readonly Msg[], call: RetrievalCall) => Awaitable<string | undefined>;
  /**
   * Of several with one id, one content, or what the function gives for them, the best is used.
   * Default true.
   */
  readonly dedupe?: boolean | ((document: RetrievedDocument) => unknown);
  /**
   * A better order, such as `mmrRerank()`. Where it fails, or takes too long, the documents keep
   * theirs.
   */
  readonly rerank?: Rerank;
  /**
   * The documents as text, in the place of `documentsText`. It is fenced and held within
   * `maxTokens` all the same.
   */
  readonly format?: (documents: readonly RetrievedDocument[]) => string;
  /**
   * The role of the message that carries the documents; default `user`, as in `longTermMemory()`.
   */
  readonly role?: 'user' | 'system';
  /** What the model is told of the tool; two of them in one agent need two names. */
  readonly tool?: { readonly name?: string; readonly description?: string };
  /** Milliseconds for all of a search; default 10,000. */
  readonly timeoutMs?: number;
  /** Told what failed and what was left out; the call goes on. Default: `console.warn`. */
  readonly onError?: (error: AgentError) => void;
}

/** Throws `CONFIGURATION` for what is none of an option's values. */
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
