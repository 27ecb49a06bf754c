import { AgentError } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { recalledMessage } from './recalled-message.ts';
import type { MessageContext } from '../../message/create-message.ts';
import { textOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../model/deadline.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { AgentResult, StopReason } from '../../event/agent-result.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import {
  checkLongTermOptions,
  type LongTermMemoryOptions,
  type LongTermPhase,
  type LongTermTurn,
} from './long-term-options.ts';
import { longTermTools } from './long-term-tools.ts';

export interface LongTermMemoryMiddleware extends Middleware {
  /**
   * Resolves when no recording is running. Await it before a shutdown and before you delete a
   * session. Never rejects.
   */
  settled(): Promise<void>;
}

/**
 * Adds long-term memory to an agent; for its `use` list. Recalls records from earlier conversations
 * and records new ones.
 *
 * Recalled records go into a message of their own, between the system prompt and the history. Each
 * request of the call has this message; `Memory` never has it. If nothing is found, there is no
 * message. A turn is recorded once it is in the log. A call that was interrupted, aborted or
 * rejected, that failed, or that waits for a decision records nothing. Recording never delays the
 * reply.
 *
 * Throws `CONFIGURATION` for an unknown mode, role or scope, and for a limit that is not a number
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

  const recall = async (
    input: readonly Msg[],
    { sessionId, signal }: RunContext,
  ): Promise<readonly Msg[]> => {
    inputs.set(sessionId, input);
    const question = input.findLast((message) => message.role === 'user');
    const query = question ? textOf(question).trim() : '';
    if (!query) return [];
    const deadline = new Deadline(signal, timeoutMs, silent);
    try {
      const found = await deadline.wait(() =>
        memory.retrieve(query, { limit, ...scopeOf(scope, sessionId), signal: deadline.signal }),
      );
      const message = recalledMessage(found, { ...context, role, maxTokens });
      return message ? [message] : [];
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

  const onRunEnd = (sessionId: string, { message: answer, reason }: AgentResult): void => {
    const input = inputs.get(sessionId);
    inputs.delete(sessionId);
    if (!input || !answered.includes(reason)) return;
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
      recall,
      onError: 'ignore' as const,
      on: {
        'run-end': ({ sessionId, result }: EventOf<'run-end'>) => onRunEnd(sessionId, result),
      },
    }),
    ...(mode !== 'auto' && {
      tools: longTermTools({
        memory,
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

/** The reasons for which a call ends with an answer of the agent. */
const answered: readonly StopReason[] = [
  'stop',
  'max-iterations',
  'limit',
  'return-direct',
  'stopped-by-hook',
];

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
