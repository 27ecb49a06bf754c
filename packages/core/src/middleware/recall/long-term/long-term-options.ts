import type { AgentError } from '../../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../../error/check-fields.ts';
import type { LongTermMemory } from '../../../search/long-term-contract.ts';
import type { MessageContext } from '../../../message/create-message.ts';
import type { Msg } from '../../../message/msg.ts';

export type LongTermPhase = 'recall' | 'record';

/** Input and answer of one agent call. */
export interface LongTermTurn {
  readonly sessionId: string;
  /**
   * Input of the agent call, and the messages that users added while it ran. If the agent call
   * resumed from the session log: the user's message that it answered.
   */
  readonly input: readonly Msg[];
  readonly answer: Msg;
}

export interface LongTermMemoryOptions extends MessageContext {
  readonly memory: LongTermMemory;
  /**
   * Who uses the memory. `auto`: every agent call recalls records before it and stores its turn
   * after it. `tools`: the model uses the tools `retrieve_from_memory` and `record_to_memory`.
   * `both` (default): all of this (AgentScope: `LongTermMemoryMode`).
   */
  readonly mode?: 'auto' | 'tools' | 'both';
  /** Maximum number of records that one recall returns. Default 5. */
  readonly limit?: number;
  /**
   * Maximum number of estimated tokens of the records that the model gets from one recall. Default
   * 2,000.
   */
  readonly maxTokens?: number;
  /**
   * Sessions from which records are recalled. `all` (default): all sessions in the memory.
   * `session`: only the session of the agent call. `other-sessions`: all other sessions.
   */
  readonly scope?: 'all' | 'session' | 'other-sessions';
  /**
   * Place of the recalled records. `user`: a user message before the conversation. `system`: the
   * end of the system prompt. Default `user`, because text that users wrote earlier should not have
   * the authority of the system prompt.
   */
  readonly role?: 'user' | 'system';
  /**
   * Maximum time for a recall, in milliseconds. After that, the agent call continues without it.
   * Default 10,000.
   */
  readonly timeoutMs?: number;
  /**
   * Returns the messages of a turn to record, or an empty array to record nothing. Default: the
   * input and the answer, without the replies and tool results between them.
   */
  readonly select?: (turn: LongTermTurn) => readonly Msg[];
  /**
   * Function that gets the promise of each recording, which may end after the reply. Use
   * `waitUntil` on hosts that stop when the reply is sent, such as Cloudflare Workers and Vercel.
   */
  readonly waitUntil?: (recording: Promise<void>) => void;
  /**
   * Function that gets the error of a failed recall or recording. The agent call continues.
   * Default: `console.warn`.
   */
  readonly onError?: (error: AgentError, phase: LongTermPhase) => void;
}

/** Function that gets the failures. */
export type ReportLongTerm = (error: unknown, phase: LongTermPhase) => void;

const where = 'longTermMemory()';
const fields =
  'memory:retrieve() mode:auto|tools|both|? limit:natural|? maxTokens,timeoutMs:positive|? ' +
  'scope:all|session|other-sessions|? role:user|system|? ' +
  'select,waitUntil,onError,generateId,now:function|?';

/** Throws `CONFIGURATION` for an invalid option. */
export function checkLongTermOptions(options: LongTermMemoryOptions): void {
  checkOptions('CONFIGURATION', where, options, fields);
  checkFields('CONFIGURATION', where, options, 'memory:record()');
}
