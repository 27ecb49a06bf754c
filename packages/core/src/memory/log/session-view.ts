import type { CallState } from '../../event/call-state.ts';
import type { Decision } from '../../event/pending-call.ts';
import { AgentError } from '../../error/agent-error.ts';
import { isRecord } from '../../message/is-record.ts';
import type { JsonValue } from '../../message/json.ts';
import { toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { parseMessages } from '../../message/validate-message.ts';
import type { Flushes, LogRecord, RunNote } from './log-record.ts';

type Summary = Extract<RunNote, { kind: 'summary' }>;

/** What a session's log amounts to: the history, and where its runs and tool calls stand. */
export interface SessionView {
  readonly messages: readonly Msg[];
  /** The tool calls without a result, by id. */
  readonly calls: ReadonlyMap<string, CallState>;
  /** The run that has not ended, or ended suspended or with an error. */
  readonly openRun: string | undefined;
  /** How the last run ended; nothing while one is open that was cut off. */
  readonly ended: string | undefined;
  readonly summary: Summary | undefined;
  readonly state: Readonly<Record<string, JsonValue>>;
}

/** Flushes whose messages are what they should be: a cache gives the same ones again. */
const checked: WeakSet<Flushes[number]> = new WeakSet();

/** A fold over the log's records, in their order. */
export class LogFold implements SessionView {
  messages: Msg[] = [];
  readonly calls: Map<string, CallState> = new Map();
  openRun: string | undefined;
  ended: string | undefined;
  summary: Summary | undefined;
  readonly state: Record<string, JsonValue> = {};
  #damaged = false;

  /** Throws `INVALID_MESSAGE` for a message that is none, and takes nothing in then. */
  add(records: readonly LogRecord[]): this {
    parseMessages(messagesIn(records));
    return this.#take(records);
  }

  /**
   * Takes in what a store gave, as `add` does; with `onDamage` a message that is none is told of
   * and left out.
   */
  load(flushes: Flushes, onDamage?: (error: AgentError) => void): this {
    if (onDamage)
      return this.#take(flushes.flat().filter((record) => this.#isWhole(record, onDamage)));
    const fresh = flushes.filter((records) => !checked.has(records));
    parseMessages(messagesIn(fresh.flat()));
    for (const records of fresh) checked.add(records);
    return this.#take(flushes.flat());
  }

  #take(records: readonly LogRecord[]): this {
    for (const record of records) this.#apply(record);
    return this;
  }

  /** The shortest log that amounts to the same; nothing where something was left out. */
  records(): readonly LogRecord[] | undefined {
    if (this.#damaged) return undefined;
    return [
      ...this.messages.map((message): LogRecord => ({ kind: 'message', message })),
      ...standingNotes(this),
      ...(this.summary ? [this.summary] : []),
      ...(Object.keys(this.state).length ? [{ kind: 'state', state: this.state } as const] : []),
    ];
  }

  #isWhole(record: LogRecord, onDamage: (error: AgentError) => void): boolean {
    try {
      parseMessages(messagesIn([record]));
      return true;
    } catch (thrown) {
      this.#damaged = true;
      onDamage(AgentError.from(thrown));
      return false;
    }
  }

  #apply(record: LogRecord): void {
    switch (record.kind) {
      case 'message':
        this.messages.push(record.message);
        for (const { id } of toolUsesOf(record.message)) this.calls.set(id, {});
        for (const { toolUseId } of toolResultsOf(record.message)) this.calls.delete(toolUseId);
        break;
      case 'replace':
        this.messages = this.messages.map((message) =>
          message.id === record.message.id ? record.message : message,
        );
        break;
      case 'cut':
        this.#cut(new Set(record.ids));
        break;
      case 'run-begin':
        this.openRun = record.runId;
        this.ended = undefined;
        break;
      case 'run-end':
        this.ended = record.reason;
        if (!/suspended|error/.test(record.reason) && !this.calls.size) this.openRun = undefined;
        break;
      case 'call-started':
        this.#update(record.toolUseId, ({ pending: _pending, decision, ...state }) => ({
          ...state,
          ...(decision && { approved: true }),
          ...(record.toolUse && { toolUse: record.toolUse }),
          started: true,
        }));
        break;
      case 'decision':
        this.#update(record.decision.toolUseId, ({ pending: _pending, ...state }) => ({
          ...state,
          decision: record.decision,
        }));
        break;
      case 'suspended':
        for (const { pending, toolUse } of record.calls) {
          this.#update(pending.toolUseId, ({ decision: _decision, ...state }) => ({
            ...state,
            ...(toolUse && { toolUse }),
            pending,
            started: false,
          }));
        }
        break;
      case 'summary':
        this.summary = record.count > 0 ? record : undefined;
        break;
      case 'state':
        for (const [key, value] of Object.entries(record.state)) {
          if (value === null) delete this.state[key];
          else this.state[key] = value;
        }
    }
  }

  #cut(ids: ReadonlySet<string>): void {
    const cut = this.messages.filter(({ id }) => ids.has(id));
    this.messages = this.messages.filter(({ id }) => !ids.has(id));
    if (this.summary && (ids.has(this.summary.first) || ids.has(this.summary.last)))
      this.summary = undefined;
    const left = new Set(this.messages.flatMap(toolUsesOf).map(({ id }) => id));
    // Its result is gone, but the call has run.
    for (const { toolUseId } of cut.flatMap(toolResultsOf))
      if (left.has(toolUseId)) this.calls.set(toolUseId, { started: true });
    for (const { id } of cut.flatMap(toolUsesOf)) this.calls.delete(id);
  }

  /** A note about a call that has its result says nothing any more. */
  #update(toolUseId: string, change: (state: CallState) => CallState): void {
    const state = this.calls.get(toolUseId);
    if (isRecord(state)) this.calls.set(toolUseId, change(state));
  }
}

function messagesIn(records: readonly LogRecord[]): readonly Msg[] {
  return records.flatMap((record) => ('message' in record ? [record.message] : []));
}

/** The fewest notes that tell where a run and its open calls stand. */
export function standingNotes({
  calls,
  openRun,
  ended,
}: Pick<SessionView, 'calls' | 'openRun' | 'ended'>): readonly RunNote[] {
  return [
    ...(openRun === undefined ? [] : [{ kind: 'run-begin', runId: openRun } as const]),
    ...[...calls].flatMap(([id, call]) => notesOf(id, call)),
    ...(ended === undefined
      ? []
      : [{ kind: 'run-end', runId: openRun ?? '', reason: ended } as const]),
  ];
}

/** Of the calls that wait for somebody, if any. */
export function suspendedNote(calls: ReadonlyMap<string, CallState>): readonly RunNote[] {
  const waiting = [...calls.values()].flatMap(({ pending, toolUse }) =>
    pending ? [{ pending, ...(toolUse && { toolUse }) }] : [],
  );
  return waiting.length > 0 ? [{ kind: 'suspended', calls: waiting }] : [];
}

/**
 * In the order that makes the same of them: what began, then what it waits for or what was said of
 * it.
 */
function notesOf(
  toolUseId: string,
  { started, toolUse, approved, decision, pending }: CallState,
): readonly RunNote[] {
  const notes: RunNote[] = [];
  const yes: Decision = { toolUseId, type: 'approve' };
  const use = toolUse && { toolUse };
  if (approved) notes.push({ kind: 'decision', decision: yes });
  if (approved || started) notes.push({ kind: 'call-started', toolUseId, ...use });
  if (pending) notes.push({ kind: 'suspended', calls: [{ pending, ...use }] });
  // Approved, but it did not come to run.
  const left = decision ?? (approved && !started && !pending ? yes : undefined);
  if (left) notes.push({ kind: 'decision', decision: left });
  return notes;
}
