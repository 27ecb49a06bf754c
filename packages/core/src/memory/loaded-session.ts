import type { AgentStatus } from '../event/agent-status.ts';
import { KeptConversation } from '../message/conversation/conversation.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import type { LogContent } from './log/log.ts';
import type { LogNote, LogRecord } from './log/log-record.ts';
import { SessionFold } from './log/session-fold.ts';
import { trackValues, valuesIn, type Values } from './log/session-values.ts';
import { groupsKey, valuesKey } from './store/storage-keys.ts';
import { SyncedGroups } from './synced-groups.ts';

/** A session in memory: its state as the log was last read, and the changes since then. */
export class LoadedSession {
  /** The conversation that runs share. It has the messages of the fold. */
  readonly conversation: KeptConversation = new KeptConversation();
  readonly #values = trackValues({});
  /** Tool groups of the agent that uses this session. */
  #groups: SyncedGroups | undefined;
  #fold: SessionFold | undefined;
  #removals: readonly LogRecord[] = [];

  /** The state after all records. `undefined` if the log has to be read. */
  get fold(): SessionFold | undefined {
    return this.#fold;
  }

  /** The session's values. All agents that use the session share this object. */
  get values(): Values {
    return this.#values.values;
  }

  /** Records of removed messages that the log gets with the next records. */
  get removals(): readonly LogRecord[] {
    return this.#removals;
  }

  /** Whether there may be values or groups for the log, which has to be read to compare them. */
  get needsLog(): boolean {
    return !this.#fold && (this.#groups !== undefined || this.#values.updates.length > 0);
  }

  /** Takes over what the log has. Repeats the updates of values that the log does not have. */
  load({ stored, pending }: LogContent): SessionFold {
    const fold = new SessionFold().load(stored);
    const values = fold.state[valuesKey];
    this.#fold = fold.load([[...pending, ...this.#removals]]);
    this.#values.load(values, new Set(valuesIn(pending)));
    this.conversation.drop();
    return fold;
  }

  /** Drops the state in memory, so that the next operation reads the log. */
  unload(): void {
    this.#fold = undefined;
    this.conversation.drop();
  }

  /** Removes all that the log does not have. */
  clear(): void {
    this.#removals = [];
    this.#values.clear();
  }

  /** Applies records of removed messages, and keeps them for the next records. */
  keepRemovals(records: readonly LogRecord[]): void {
    this.#removals = [...this.#removals, ...records];
    this.#fold?.add(records);
  }

  /** Restores the removed messages that the log still has. */
  undoRemovals(): void {
    if (this.#removals.length) this.#fold = undefined;
    this.#removals = [];
  }

  /** Applies records that the log has got after `removals`. */
  add(records: readonly LogRecord[]): void {
    this.#removals = [];
    this.#fold?.add(records);
  }

  /** Sets the values that new records have. */
  putValues(records: readonly LogRecord[]): void {
    for (const values of valuesIn(records)) this.#values.put(values);
  }

  /** Updates an agent's state from the session. */
  restore(status: AgentStatus, tools: ToolSet, fold: SessionFold): void {
    status.calls.clear();
    for (const [id, state] of fold.calls) status.calls.set(id, { ...state });
    status.openRunId = fold.openRunId;
    status.stoppedRunId = fold.stoppedRunId;
    status.interrupted = fold.endReason === 'interrupted';
    if (status.state !== this.values) this.#values.shareWith(status);
    if (!this.#groups?.isOf(status)) this.#groups = new SyncedGroups(status, tools);
    this.#groups.restore(fold.state[groupsKey]);
  }

  /** Returns notes about the values and active tool groups that differ from the log's. */
  stateNotes(): readonly LogNote[] {
    const values = this.#values.changes(this.#fold?.state[valuesKey]);
    const groups = this.#groups?.changes();
    if (!values && !groups) return [];
    const state = {
      ...(values && { [valuesKey]: values }),
      ...(groups && { [groupsKey]: groups }),
    };
    return [{ kind: 'state', state }];
  }

  /** Forgets the updates of values that the log has now. */
  forgetWritten(): void {
    this.#values.forgetWritten();
  }
}
