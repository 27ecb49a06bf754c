import { toolUsesOf } from '../../../message/message-text.ts';
import type { Msg } from '../../../message/msg.ts';
import { isOwn } from '../../../message/metadata-keys.ts';
import { isAnswer, type AgentResult } from '../../../event/agent-result.ts';
import type { LongTermMemoryOptions, LongTermTurn, ReportLongTerm } from './long-term-options.ts';

/** Records turns in a long-term memory, beside the agent calls. */
export class TurnRecorder {
  readonly #options: LongTermMemoryOptions;
  readonly #report: ReportLongTerm;
  readonly #recordings: Set<Promise<void>> = new Set();

  constructor(options: LongTermMemoryOptions, report: ReportLongTerm) {
    this.#options = options;
    this.#report = report;
  }

  /** Begins to record a turn. A failure is reported. */
  begin(turn: LongTermTurn): void {
    const recording = Promise.resolve()
      .then(() => this.#record(turn))
      .finally(() => this.#recordings.delete(recording));
    this.#recordings.add(recording);
    try {
      this.#options.waitUntil?.(recording);
    } catch (error) {
      this.#report(error, 'record');
    }
  }

  async settled(): Promise<void> {
    while (this.#recordings.size) await Promise.all(this.#recordings);
  }

  async #record(turn: LongTermTurn): Promise<void> {
    const { memory, select = wholeTurn } = this.#options;
    try {
      const messages = select(turn);
      if (messages.length) await memory.record(messages, { sessionId: turn.sessionId });
    } catch (error) {
      this.#report(error, 'record');
    }
  }
}

/**
 * Returns whether an agent call ended with an answer. A hook may stop it before its answer; the
 * agent call that continues it then records the turn.
 */
export function hasAnswer({ message, reason }: AgentResult): boolean {
  return isAnswer(reason) && message.content.length > 0 && !toolUsesOf(message).length;
}

/** Returns the input, and the messages that users added while the agent worked on it. */
export function wholeInput(input: readonly Msg[], conversation: readonly Msg[]): readonly Msg[] {
  const ids = new Set(input.map(({ id }) => id));
  const start = conversation.findIndex(({ id }) => ids.has(id));
  if (start === -1) return input;
  const added = conversation
    .slice(start)
    .filter((message) => message.role === 'user' && !isOwn(message) && !ids.has(message.id));
  return [...input, ...added];
}

function wholeTurn({ input, answer }: LongTermTurn): readonly Msg[] {
  return [...input, answer];
}
