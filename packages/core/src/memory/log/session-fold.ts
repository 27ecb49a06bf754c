import { AgentError } from '../../error/agent-error.ts';
import type { CallState } from '../../event/agent-status.ts';
import type { JsonValue } from '../../message/json.ts';
import { toolMessage, toolResultsOf, toolUseIn, toolUsesOf, type Msg } from '../../message/msg.ts';
import { inRequestOrder, openToolUses, orderFrom } from '../../message/conversation/tool-pairs.ts';
import { interruptedResult } from '../../tool/tool-call.ts';
import { endedCallsIn, endedCallsKey, listedCalls } from '../move/ended-calls.ts';
import { titleKey } from '../store/storage-keys.ts';
import { applyMessage, applyNote, applyReplacement, notedCallIds } from './call-notes.ts';
import { hasLostStart, isStart, resultIdsIn, withoutStrayResults } from './lost-start.ts';
import { recordsOf, type Flushes, type LogRecord } from './log-record.ts';
import { endsWithAnswer } from './resumption.ts';
import {
  covers,
  standingNotes,
  type OpenReply,
  type SessionView,
  type SummaryNote,
} from './session-view.ts';

/** Computes the state of a session from the records of its log, in order. */
export class SessionFold implements SessionView {
  /** The messages, the oldest first. */
  #appended: Msg[] = [];
  /** The last result of `messages`. Empty after a message was removed or replaced. */
  #ordered: readonly Msg[] = [];
  /** Number of messages at the start of `#ordered` that need no further look. */
  #settledCount = 0;
  readonly calls: Map<string, CallState> = new Map();
  openRunId: string | undefined;
  endReason: string | undefined;
  stoppedRunId: string | undefined;
  summary: SummaryNote | undefined;
  reply: OpenReply | undefined;
  readonly state: Record<string, JsonValue> = {};
  /**
   * Ids of the tool calls whose results may be among lost records. `undefined` if no record is
   * lost.
   */
  #uncertainIds: Set<string> | undefined;
  /**
   * Whether the log begins in the middle of a run, and no user's message came yet. `undefined`
   * before the first load, which has the stored records.
   */
  #isStartLost: boolean | undefined;

  get messages(): readonly Msg[] {
    const orderedCount = this.#ordered.length;
    if (orderedCount < this.#appended.length) {
      const allMessages = [...this.#ordered, ...this.#appended.slice(orderedCount)];
      this.#ordered = orderFrom(allMessages, this.#settledCount, inRequestOrder);
      if (!openToolUses(allMessages.slice(this.#settledCount)).length)
        this.#settledCount = allMessages.length;
    }
    return this.#ordered;
  }

  get title(): string | undefined {
    return this.state[titleKey] as string | undefined;
  }

  /** Applies records. */
  add(records: readonly LogRecord[]): this {
    for (const record of records) this.#apply(record);
    return this;
  }

  /**
   * Applies the records of flushes from a store. After lost records, closes tool calls whose
   * results may be lost, and leaves out results without a tool call. The history then stays valid,
   * and no finished tool runs again. Does the same for a log whose start is lost.
   */
  load(flushes: Flushes): this {
    this.#isStartLost ??= hasLostStart(flushes[0] ?? []);
    const records = flushes.flat();
    const resultIds = this.#isStartLost ? resultIdsIn(records) : undefined;
    for (const record of records) {
      if (record.kind === 'lost') this.#uncertainIds = new Set(this.calls.keys());
      else if (this.#isStartLost) this.#applyAfterLostStart(record, resultIds);
      else if (this.#uncertainIds) this.#applyAfterLoss(record, this.#uncertainIds);
      else this.#apply(record);
    }
    this.#close();
    if (this.#isStartLost) this.#closeLostCalls(resultIds);
    if (this.#uncertainIds) this.#checkSummary();
    return this;
  }

  /** Drops the summary if some of its messages are lost. */
  #checkSummary(): void {
    const { summary, messages } = this;
    const start = messages.findIndex(({ id }) => id === summary?.firstId);
    if (summary && !covers(summary, messages, start)) this.summary = undefined;
  }

  /** Whether all records were read. */
  get isWhole(): boolean {
    return this.#uncertainIds === undefined;
  }

  /** Throws `STORAGE_FAILED` if some records could not be read. */
  checkWhole(): void {
    if (this.isWhole) return;
    const message = 'A part of the session is damaged; repairSession() continues with the rest.';
    throw new AgentError('STORAGE_FAILED', message);
  }

  /** Returns the shortest list of records that gives the same state. */
  records(): readonly LogRecord[] {
    return [
      ...recordsOf(this.messages),
      ...standingNotes(this),
      ...(this.summary ? [this.summary] : []),
      ...(this.reply ? [this.reply] : []),
      ...(Object.keys(this.state).length ? [{ kind: 'state', state: this.state } as const] : []),
    ];
  }

  #applyAfterLoss(record: LogRecord, uncertainIds: Set<string>): void {
    if (record.kind !== 'message') {
      for (const id of notedCallIds(record)) uncertainIds.delete(id);
      this.#apply(record);
      return;
    }
    if (record.message.role !== 'tool') this.#close();
    const message = withoutStrayResults(record.message, this.calls);
    if (message) this.#apply({ kind: 'message', message });
  }

  /** Applies a record of the run whose start is lost. That run ends before the next start. */
  #applyAfterLostStart(record: LogRecord, resultIds: ReadonlySet<string> | undefined): void {
    if (isStart(record)) {
      this.#isStartLost = false;
      this.#closeLostCalls(resultIds);
    }
    if (record.kind !== 'message') return this.#apply(record);
    const message = withoutStrayResults(record.message, this.calls);
    if (message) this.#apply({ kind: 'message', message });
  }

  /** Gives each tool call whose result may be lost an `interrupted` result. */
  #close(): void {
    this.#closeCalls(this.#uncertainIds ?? []);
    this.#uncertainIds?.clear();
  }

  /** Closes the calls that have no result in the log. `resultIds`: the calls with one. */
  #closeLostCalls(resultIds: ReadonlySet<string> = new Set()): void {
    this.#closeCalls([...this.calls.keys()].filter((id) => !resultIds.has(id)));
  }

  #closeCalls(ids: Iterable<string>): void {
    for (const id of ids) {
      const state = this.calls.get(id);
      const message = state && interruptedMessage(this.#appended, id, state);
      if (message) this.#apply({ kind: 'message', message });
    }
  }

  #apply(record: LogRecord): void {
    switch (record.kind) {
      case 'message':
        this.#append(record.message);
        break;
      case 'replace':
        this.#replace(record.message);
        break;
      case 'truncate':
        this.#remove(new Set(record.ids));
        // If the log now ends with an answer, an earlier run gave this answer.
        this.#closeAnswered();
        break;
      case 'run-begin':
        this.openRunId = record.runId;
        this.endReason = undefined;
        this.stoppedRunId = undefined;
        break;
      case 'run-end':
        this.endReason = record.reason;
        if (!isContinued(record.reason) && !this.calls.size) this.openRunId = undefined;
        if (isStopped(record.reason)) this.stoppedRunId = record.runId || undefined;
        break;
      case 'summary':
        this.summary = record.count > 0 ? record : undefined;
        break;
      case 'reply':
        this.reply = record.state ? record : undefined;
        break;
      case 'state':
        for (const [key, value] of Object.entries(record.state)) {
          if (value === null) delete this.state[key];
          else this.state[key] = value;
        }
        break;
      default:
        applyNote(this.calls, record);
    }
  }

  #append(message: Msg): void {
    this.#appended.push(message);
    if (message.role === 'assistant') this.reply = undefined;
    applyMessage(this.calls, message);
    // After the end of a run, an answer comes from outside, and the failed or waiting run is over.
    if (this.endReason !== undefined) this.#closeAnswered();
  }

  #closeAnswered(): void {
    if (!this.calls.size && endsWithAnswer(this.messages)) this.openRunId = undefined;
  }

  #replace(message: Msg): void {
    const before = this.#appended.find(({ id }) => id === message.id);
    if (!before) return;
    applyReplacement(this.calls, before, message);
    this.#setMessages(this.#appended.map((one) => (one === before ? message : one)));
  }

  #remove(ids: ReadonlySet<string>): void {
    const removedMessages = this.#appended.filter(({ id }) => ids.has(id));
    this.#listEndedCalls(removedMessages);
    this.#setMessages(this.#appended.filter(({ id }) => !ids.has(id)));
    if (this.summary && (ids.has(this.summary.firstId) || ids.has(this.summary.lastId)))
      this.summary = undefined;
    const remainingIds = new Set(this.#appended.flatMap(toolUsesOf).map(({ id }) => id));
    // The result was removed, but the tool has run.
    for (const { toolUseId } of removedMessages.flatMap(toolResultsOf))
      if (remainingIds.has(toolUseId)) this.calls.set(toolUseId, { started: true });
    for (const { id } of removedMessages.flatMap(toolUsesOf)) this.calls.delete(id);
  }

  /** Keeps the names of ended tool calls, so that an older copy cannot bring them back. */
  #listEndedCalls(removedMessages: readonly Msg[]): void {
    const names = endedCallsIn(removedMessages, this.calls, this.#appended);
    if (!names.length) return;
    this.state[endedCallsKey] = [...new Set([...listedCalls(this.state), ...names])];
  }

  #setMessages(messages: Msg[]): void {
    this.#appended = messages;
    this.#ordered = [];
    this.#settledCount = 0;
  }
}

/** Returns whether the next agent call continues a run that ended with this reason. */
function isContinued(reason: string): boolean {
  return reason === 'suspended' || reason === 'error';
}

/** Returns whether a person or a program stopped a run that ended with this reason. */
function isStopped(reason: string): boolean {
  return reason === 'interrupted' || reason === 'aborted';
}

/**
 * Returns a message with an `interrupted` result for a tool call. Returns `undefined` if the
 * messages do not contain the tool call.
 */
function interruptedMessage(
  messages: readonly Msg[],
  toolUseId: string,
  state: CallState,
): Msg | undefined {
  const message = messages.findLast((each) => toolUseIn(each, toolUseId));
  const toolUse = message && toolUseIn(message, toolUseId);
  if (!toolUse) return undefined;
  const result = interruptedResult(toolUse, { ...state, started: true });
  // The id and the time are fixed, so that each read returns the same message.
  return { ...toolMessage(result, { id: `lost ${toolUseId}` }), createdAt: message.createdAt };
}
