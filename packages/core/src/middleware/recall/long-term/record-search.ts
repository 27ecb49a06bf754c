import { AgentError } from '../../../error/agent-error.ts';
import { isRecord } from '../../../message/json/is-record.ts';
import type { Msg } from '../../../message/msg.ts';
import { Deadline } from '../../../model/deadline.ts';
import type { RunContext } from '../../../agent/run-context.ts';
import type {
  LongTermRecord,
  LongTermRetrieveOptions,
} from '../../../search/long-term-contract.ts';
import type { LongTermMemoryOptions, ReportLongTerm } from './long-term-options.ts';
import { lastQuestion } from '../recalling.ts';
import { recalledSection } from './recalled-text.ts';

/** Searches a long-term memory and checks its results. Reports invalid records. */
export class RecordSearch {
  readonly limit: number;
  readonly maxTokens: number;
  readonly #options: LongTermMemoryOptions;
  readonly #report: ReportLongTerm;

  constructor(options: LongTermMemoryOptions, report: ReportLongTerm) {
    this.limit = options.limit ?? 5;
    this.maxTokens = options.maxTokens ?? 2_000;
    this.#options = options;
    this.#report = report;
  }

  /** Returns the records for a query in an agent call of the given session. */
  async find(
    query: string,
    { sessionId, signal }: { readonly sessionId: string; readonly signal: AbortSignal },
  ): Promise<readonly LongTermRecord[]> {
    const scope = scopeOf(this.#options.scope, sessionId);
    const options = { limit: this.limit, signal, ...scope };
    const found = await this.#options.memory.retrieve(query, options);
    // After the time limit, the failure of the search was reported already.
    return readRecords(found, (error) => signal.aborted || this.#report(error, 'recall'));
  }

  /**
   * Returns the records for the last question of the input as text for the model. Returns an empty
   * string if nothing was found. Reports a failure and returns an empty string too.
   */
  async recall(
    input: readonly Msg[],
    { sessionId, stopSignal }: Pick<RunContext, 'sessionId' | 'stopSignal'>,
  ): Promise<string> {
    const query = lastQuestion(input);
    if (!query) return '';
    const deadline = new Deadline(stopSignal, this.#options.timeoutMs ?? 10_000, silent);
    try {
      const { signal } = deadline;
      const found = await deadline.wait(() => this.find(query, { sessionId, signal }));
      return recalledSection(found, this.maxTokens);
    } catch (error) {
      if (!stopSignal.aborted) this.#report(error, 'recall');
      return '';
    } finally {
      deadline.end();
    }
  }
}

function scopeOf(
  scope: LongTermMemoryOptions['scope'],
  sessionId: string,
): Pick<LongTermRetrieveOptions, 'sessionId' | 'exceptSessionId'> {
  if (scope === 'session') return { sessionId };
  return scope === 'other-sessions' ? { exceptSessionId: sessionId } : {};
}

/**
 * Returns the records in the result of a memory. Leaves out records without a text and reports
 * their number. Throws `STORAGE_FAILED` if the result is not an array.
 */
function readRecords(
  found: unknown,
  report: (error: AgentError) => void,
): readonly LongTermRecord[] {
  if (!Array.isArray(found)) throw wrong(`no array, but ${found === null ? 'null' : typeof found}`);
  const records = found.filter(hasText);
  const without = found.length - records.length;
  if (without) report(wrong(`${without} records without a \`text\``));
  return records;
}

function hasText(item: unknown): item is LongTermRecord {
  return isRecord(item) && typeof item['text'] === 'string';
}

function wrong(what: string): AgentError {
  return new AgentError('STORAGE_FAILED', `retrieve() of the long-term memory returned ${what}.`);
}

function silent(timeoutMs: number): AgentError {
  const message = `The long-term memory did not answer within ${timeoutMs} ms`;
  return new AgentError('STORAGE_FAILED', message, { retryable: true });
}
