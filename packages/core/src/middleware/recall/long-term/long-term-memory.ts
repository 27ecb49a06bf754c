import { AgentError } from '../../../error/agent-error.ts';
import { reportFailure } from '../../../error/report-failure.ts';
import { createMessage, type MessageContext } from '../../../message/create-message.ts';
import type { Msg } from '../../../message/msg.ts';
import { addToSystemPrompt } from '../../../agent/run-context.ts';
import type { Middleware } from '../../../agent/middleware.ts';
import { recalling, type Recall } from '../recalling.ts';
import {
  checkLongTermOptions,
  type LongTermMemoryOptions,
  type ReportLongTerm,
} from './long-term-options.ts';
import { longTermTools } from './long-term-tools.ts';
import { RecordSearch } from './record-search.ts';
import { hasAnswer, TurnRecorder, wholeInput } from './turn-recorder.ts';

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
  const { memory, mode = 'both', role = 'user', generateId, now } = options;
  const context: MessageContext = { ...(generateId && { generateId }), ...(now && { now }) };
  const report: ReportLongTerm = (error, phase) =>
    reportFailure(
      `Long-term memory: ${phase} failed. The call continues without it.`,
      options.onError,
      AgentError.from(error),
      phase,
    );
  const search = new RecordSearch(options, report);
  const recorder = new TurnRecorder(options, report);
  /** Inputs of the running agent calls, by run id. */
  const inputs = new Map<string, readonly Msg[]>();

  const recall: Recall = async (input, run) => {
    inputs.set(run.runId, input);
    const text = await search.recall(input, run);
    if (!text) return [];
    if (role === 'user')
      return [createMessage('user', text, { ...context, name: 'long_term_memory' })];
    addToSystemPrompt(run, text);
    return [];
  };
  const automatic: Partial<Middleware> = {
    ...recalling(recall),
    onError: 'ignore',
    on: {
      'run-end': ({ result }, _control, { runId, sessionId, messages }) => {
        const given = inputs.get(runId);
        inputs.delete(runId);
        if (!given || !hasAnswer(result)) return;
        const input = wholeInput(given, messages);
        recorder.begin({ sessionId, input, answer: result.message });
      },
    },
  };
  return {
    name: 'longTermMemory',
    ...(mode !== 'tools' && automatic),
    ...(mode !== 'auto' && { tools: longTermTools({ memory, search, context, report }) }),
    settled: () => recorder.settled(),
  };
}
