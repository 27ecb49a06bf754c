import { AgentError } from '../../../error/agent-error.ts';
import { reportFailure } from '../../../error/report-failure.ts';
import type {
  LongTermRecord,
  LongTermRetrieveOptions,
} from '../../../search/long-term-contract.ts';
import { recalledSection } from './recalled-text.ts';
import { createMessage, type MessageContext } from '../../../message/create-message.ts';
import { textOf, toolUsesOf } from '../../../message/message-text.ts';
import type { Msg } from '../../../message/msg.ts';
import { isOwn } from '../../../message/own-message.ts';
import { Deadline } from '../../../model/deadline.ts';
import type { EventOf } from '../../../event/agent-event.ts';
import type { StopReason } from '../../../event/agent-result.ts';
import { addToSystemPrompt } from '../../../agent/run-context.ts';
import type { Middleware } from '../../../agent/middleware.ts';
import type { RunContext } from '../../../agent/run-context.ts';
import { recalling, type Recall } from '../recalling.ts';
import {
  checkLongTermOptions,
  type LongTermMemoryOptions,
  type LongTermPhase,
  type LongTermTurn,
} from './long-term-options.ts';
import { longTermTools } from './long-term-tools.ts';
import { readRecords } from './read-records.ts';

export interface LongTermMemoryMiddleware extends Middleware {
  /**
   * Resolves when all recordings have ended. Await `settled` before a shutdown and before you
   * delete a session. Never rejects.
   */
  settled(): Promise<void>;
}

/**
 * Adds long-term memory to an agent. Put this middleware in the agent's `use` list. It recalls
 * records from earlier conversations and stores new records.
 *
 * Recalled records are in a separate message between the system prompt and the conversation, or at
 * the end of the system prompt. Each model request of the agent call has them, but `Memory` does not
 * store them. A turn is recorded after it is in the session log. No turn is recorded if the agent
 * call was interrupted, aborted or rejected, failed, or waits for a decision. The same holds if a
 * hook stopped it before its answer. The reply does not wait for the recording.
 *
 * Throws `CONFIGURATION` for an unknown mode, role or scope, or for a limit that is not a number
 * above 0.
 */
export function longTermMemory(options: LongTermMemoryOptions): LongTermMemoryMiddleware {
  checkLongTermOptions(options);
  const {
    memory,
    mode = 'both',
    limit = 5,
    maxTokens = 2_000,
    scope = 'all',
    role = 'user',
  } = options;
  const { timeoutMs = 10_000, select = wholeTurn, waitUntil, generateId, now } = options;
  const context: MessageContext = { ...(generateId && { generateId }), ...(now && { now }) };
  const inputs = new Map<string, readonly Msg[]>();
  const recordings = new Set<Promise<void>>();

  const report = (error: unknown, phase: LongTermPhase): void =>
    reportFailure(
      `Long-term memory: ${phase} failed. The call continues without it.`,
      options.onError,
      AgentError.from(error),
      phase,
    );

  const retrieve = async (
    query: string,
    given: LongTermRetrieveOptions,
  ): Promise<readonly LongTermRecord[]> => {
    const found = await memory.retrieve(query, given);
    // After the time limit, the failure of the search was reported already.
    return readRecords(found, (error) => given.signal?.aborted || report(error, 'recall'));
  };

  const recall: Recall = async (input, run) => {
    const { runId, sessionId, stopSignal: signal } = run;
    inputs.set(runId, input);
    const question = input.findLast((message) => message.role === 'user');
    const query = question ? textOf(question).trim() : '';
    if (!query) return [];
    const deadline = new Deadline(signal, timeoutMs, silent);
    try {
      const found = await deadline.wait(() =>
        retrieve(query, { limit, ...scopeOf(scope, sessionId), signal: deadline.signal }),
      );
      const text = recalledSection(found, maxTokens);
      if (!text) return [];
      if (role === 'user')
        return [createMessage('user', text, { ...context, name: 'long_term_memory' })];
      addToSystemPrompt(run, text);
      return [];
    } catch (error) {
      if (!signal.aborted) report(error, 'recall');
      return [];
    } finally {
      deadline.end();
    }
  };

  const record = async (turn: LongTermTurn): Promise<void> => {
    try {
      const messages = select(turn);
      if (messages.length) await memory.record(messages, { sessionId: turn.sessionId });
    } catch (error) {
      report(error, 'record');
    }
  };

  const onRunEnd = ({ result }: EventOf<'run-end'>, run: RunContext): void => {
    const { message: answer, reason } = result;
    const { runId, sessionId, messages } = run;
    const given = inputs.get(runId);
    inputs.delete(runId);
    // A hook may stop the agent call before its answer. The call that continues it records the turn.
    const isAnswer = answer.content.length > 0 && !toolUsesOf(answer).length;
    if (!given || !isAnswer || !answered.includes(reason)) return;
    const input = [...given, ...addedSince(given, messages)];
    const recording = Promise.resolve()
      .then(() => record({ sessionId, input, answer }))
      .finally(() => recordings.delete(recording));
    recordings.add(recording);
    try {
      waitUntil?.(recording);
    } catch (error) {
      report(error, 'record');
    }
  };

  return {
    name: 'longTermMemory',
    ...(mode !== 'tools' && {
      ...recalling(recall),
      onError: 'ignore' as const,
      on: {
        'run-end': (event: EventOf<'run-end'>, _control: object, run: RunContext) =>
          onRunEnd(event, run),
      },
    }),
    ...(mode !== 'auto' && {
      tools: longTermTools({
        memory,
        retrieve,
        limit,
        maxTokens,
        scope: (id) => scopeOf(scope, id),
        report,
        context,
      }),
    }),
    async settled() {
      while (recordings.size) await Promise.all(recordings);
    },
  };
}

/** Reasons of agent calls that ended with an answer. */
const answered: readonly StopReason[] = [
  'stop',
  'max-iterations',
  'limit',
  'return-direct',
  'stopped-by-hook',
];

/** Returns the messages that users added while the agent worked on the input. */
function addedSince(input: readonly Msg[], conversation: readonly Msg[]): readonly Msg[] {
  const ids = new Set(input.map(({ id }) => id));
  const start = conversation.findIndex(({ id }) => ids.has(id));
  if (start === -1) return [];
  return conversation
    .slice(start)
    .filter((message) => message.role === 'user' && !isOwn(message) && !ids.has(message.id));
}

function wholeTurn({ input, answer }: LongTermTurn): readonly Msg[] {
  return [...input, answer];
}

function silent(timeoutMs: number): AgentError {
  return new AgentError(
    'STORAGE_FAILED',
    `The long-term memory did not answer within ${timeoutMs} ms`,
    {
      retryable: true,
    },
  );
}

function scopeOf(
  scope: LongTermMemoryOptions['scope'],
  sessionId: string,
): { sessionId?: string; exceptSessionId?: string } {
  if (scope === 'session') return { sessionId };
  return scope === 'other-sessions' ? { exceptSessionId: sessionId } : {};
}
