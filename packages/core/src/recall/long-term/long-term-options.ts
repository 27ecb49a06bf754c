import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { LongTermMemory } from './long-term-contract.ts';
import type { MessageContext } from '../../message/create-message.ts';
import type { Msg } from '../../message/msg.ts';

export type LongTermPhase = 'recall' | 'record';

/** One call of an agent, as it went into its log. */
export interface LongTermTurn {
  readonly sessionId: string;
  /**
   * What the call was made with; of one that went on from its log, the message that it answered.
   */
  readonly input: readonly Msg[];
  readonly answer: Msg;
}

export interface LongTermMemoryOptions extends MessageContext {
  readonly memory: LongTermMemory;
  /**
   * `auto`: recalls before each call, records after it. `tools`: the model does both itself, with
   * `retrieve_from_memory` and `record_to_memory`. Default `both` (AgentScope:
   * `LongTermMemoryMode`).
   */
  readonly mode?: 'auto' | 'tools' | 'both';
  /** Records recalled at a time; default 5. */
  readonly limit?: number;
  /** Estimated tokens that one recall may take of the model's window; default 2,000. */
  readonly maxTokens?: number;
  /**
   * What is recalled: from all sessions in the memory (default), from the call's own alone, or from
   * all others.
   */
  readonly scope?: 'all' | 'session' | 'other-sessions';
  /**
   * The role of the message that carries what was recalled. Default `user`: several servers and
   * chat templates refuse a second system message, and what users once said should not speak with
   * the system prompt's authority.
   */
  readonly role?: 'user' | 'system';
  /** Milliseconds before a call goes on without what should have been recalled; default 10,000. */
  readonly timeoutMs?: number;
  /**
   * What of a turn is recorded; nothing: an empty array. Default: the input and the answer, nothing
   * between.
   */
  readonly select?: (turn: LongTermTurn) => readonly Msg[];
  /**
   * Given each recording that goes on behind a reply: for hosts that stop when the reply is out
   * (Cloudflare Workers, Vercel).
   */
  readonly waitUntil?: (recording: Promise<void>) => void;
  /** Told what failed; the call goes on. Default: `console.warn`. */
  readonly onError?: (error: AgentError, phase: LongTermPhase) => void;
}

/** Throws `CONFIGURATION` for what is none of an option's values. */
export function checkLongTermOptions(options: LongTermMemoryOptions): void {
  checkFields(
    'CONFIGURATION',
    'longTermMemory',
    options,
    'select:function|? waitUntil:function|? onError:function|?',
  );
  const {
    memory,
    mode = 'both',
    role = 'user',
    scope = 'all',
    limit = 1,
    maxTokens = 1,
    timeoutMs = 1,
  } = options;
  const wrong = (what: string): AgentError =>
    new AgentError('CONFIGURATION', `longTermMemory: ${what}`);
  if (typeof memory?.retrieve !== 'function' || typeof memory.record !== 'function')
    throw wrong('memory must be a LongTermMemory');
  if (!['auto', 'tools', 'both'].includes(mode)) throw wrong('mode must be auto, tools or both');
  if (!['user', 'system'].includes(role)) throw wrong('role must be user or system');
  if (!['all', 'session', 'other-sessions'].includes(scope))
    throw wrong('scope must be all, session or other-sessions');
  if (!(Number.isInteger(limit) && limit > 0)) throw wrong('limit must be a whole number above 0');
  if (!(maxTokens > 0)) throw wrong('maxTokens must be a number above 0');
  if (!(timeoutMs > 0)) throw wrong('timeoutMs must be a number above 0');
}
