import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { LongTermMemory } from './long-term-contract.ts';
import type { MessageContext } from '../../message/create-message.ts';
import type { Msg } from '../../message/msg.ts';

export type LongTermPhase = 'recall' | 'record';

/** One call of an agent, as stored in its log. */
export interface LongTermTurn {
  readonly sessionId: string;
  /**
   * The messages of the call. For a call that resumed from its log: the user message that it
   * answered.
   */
  readonly input: readonly Msg[];
  readonly answer: Msg;
}

export interface LongTermMemoryOptions extends MessageContext {
  readonly memory: LongTermMemory;
  /**
   * `auto`: recalls before each call and records after it. `tools`: the model does both itself,
   * with `retrieve_from_memory` and `record_to_memory`. Default `both` (AgentScope:
   * `LongTermMemoryMode`).
   */
  readonly mode?: 'auto' | 'tools' | 'both';
  /** Maximum number of records in one recall; default 5. */
  readonly limit?: number;
  /** Maximum estimated tokens of one recall in the model's window; default 2,000. */
  readonly maxTokens?: number;
  /**
   * The sessions to recall from: all in the memory (default), only the call's own, or all others.
   */
  readonly scope?: 'all' | 'session' | 'other-sessions';
  /**
   * The role of the message that carries the recalled records. Default `user`: several servers and
   * chat templates refuse a second system message. Earlier user text should also not have the
   * system prompt's authority.
   */
  readonly role?: 'user' | 'system';
  /** Milliseconds to wait for a recall before the call continues without it; default 10,000. */
  readonly timeoutMs?: number;
  /**
   * Chooses the messages of a turn to record; an empty array records nothing. Default: the input
   * and the answer, without the messages between them.
   */
  readonly select?: (turn: LongTermTurn) => readonly Msg[];
  /**
   * Receives the promise of each recording that continues after the reply. For hosts that stop when
   * the reply is sent (Cloudflare Workers, Vercel).
   */
  readonly waitUntil?: (recording: Promise<void>) => void;
  /** Receives failures; the call continues. Default: `console.warn`. */
  readonly onError?: (error: AgentError, phase: LongTermPhase) => void;
}

/** Throws `CONFIGURATION` for an invalid option. */
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
