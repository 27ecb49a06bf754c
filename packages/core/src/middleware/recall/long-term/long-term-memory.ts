import { AgentError } from '../../../error/agent-error.ts';
import { reportFailure } from '../../../error/report-failure.ts';
import type { Msg } from '../../../message/msg.ts';
import { perRun } from '../../../agent/per-run.ts';
import type { Middleware } from '../../../agent/middleware.ts';
import { recalling } from '../recalling.ts';
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
  const { memory, mode = 'both', role = 'user' } = options;
  const report: ReportLongTerm = (error, phase) =>
    reportFailure(
      `Long-term memory: ${phase} failed. The call continues without it.`,
      options.onError,
      AgentError.from(error),
      phase,
    );
  const search = new RecordSearch(options, report);
  const recorder = new TurnRecorder(options, report);
  const inputOf = perRun((): { asked?: readonly Msg[] } => ({}));

  const automatic: Partial<Middleware> = {
    ...recalling({
      name: 'long_term_memory',
      ids: options,
      role: () => role,
      find(asked, context) {
        inputOf(context).asked = asked;
        return search.recall(asked, context);
      },
    }),
    onError: 'ignore',
    on: {
      'run-end': ({ result }, _control, context) => {
        const { asked } = inputOf(context);
        if (!asked || !hasAnswer(result)) return;
        const input = wholeInput(asked, context.messages);
        recorder.begin({ sessionId: context.sessionId, input, answer: result.message });
      },
    },
  };
  return {
    name: 'longTermMemory',
    ...(mode !== 'tools' && automatic),
    ...(mode !== 'auto' && { tools: longTermTools({ memory, search, context: options, report }) }),
    settled: () => recorder.settled(),
  };
}
