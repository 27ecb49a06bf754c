import { AgentError, errorText } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { boolean, func, object, string, strings } from '../error/options/kinds.ts';
import type { FieldTable } from '../error/options/option-table.ts';
import { isRecord, isObjectOrArray, type JsonObject } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { LogNote } from '../memory/log/log-record.ts';
import { replaceAll } from '../memory/log/session-values.ts';
import { standingNotes } from '../memory/log/session-view.ts';
import { logMemoryOf } from '../memory/memory.ts';
import { openToolUses } from '../message/conversation/tool-pairs.ts';
import { parseMessages } from '../message/validate-message.ts';
import type { AgentStatus, CallState } from '../event/agent-status.ts';
import type { Agent } from '../agent/agent.ts';

const version = 5;

/**
 * The whole state of an agent as plain JSON, including its open tool calls. Source: AgentScope.
 */
export interface AgentState {
  readonly version: typeof version;
  readonly messages: readonly Msg[];
  /** Names of the active tool groups. `null` if the agent's tools have no groups. */
  readonly activeGroups: readonly string[] | null;
  readonly interrupted: boolean;
  readonly calls: Readonly<Record<string, CallState>>;
  readonly openRunId: string | null;
  /** Values of `stateKeys()` and of limits. */
  readonly state: JsonObject;
}

/** Returns a copy of an idle agent's state. Rejects with `AGENT_BUSY` while an agent call runs. */
export async function saveState(agent: Agent): Promise<AgentState> {
  checkIdle(agent);
  const runCount = agent.status.runs;
  // If this agent has not continued the session yet, only the log has the session's state.
  await logMemoryOf(agent.memory)?.restore(agent.status, agent.tools);
  const messages = await agent.messages();
  // A call during the reads may have changed the messages or the status.
  if (agent.status.runs !== runCount) throw busyError(agent);
  const { calls, interrupted, openRunId = null, state } = agent.status;
  return structuredClone({
    version,
    messages,
    activeGroups: agent.tools.activeGroups?.() ?? null,
    interrupted,
    calls: Object.fromEntries(calls),
    openRunId,
    state,
  });
}

/**
 * Replaces an agent's state with a saved state: conversation, active tool groups, interrupt flag
 * and open tool calls. Drops a pause that waits for the next agent call. Rejects with
 * `INVALID_STATE` for an unknown version or a damaged state. The `cause` of the error names the
 * message and field, or the group. Rejects with `AGENT_BUSY` while an agent call runs, and with
 * errors of the store. After a failure, the agent is unchanged.
 */
export async function loadState(agent: Agent, state: unknown): Promise<void> {
  checkIdle(agent);
  const { messages, activeGroups, ...savedStatus } = parseState(state);
  const loadedStatus = {
    ...savedStatus,
    calls: new Map(Object.entries(savedStatus.calls)),
    openRunId: savedStatus.openRunId ?? undefined,
  };
  const { memory, tools, status } = agent;
  const groupsBefore = tools.activeGroups?.();
  const runCount = status.runs;
  await logMemoryOf(memory)?.restore(status, tools);
  const messagesBefore = await memory.read();
  const notesBefore = restoringNotes(agent, status);
  const valuesBefore = structuredClone(status.state);
  if (status.runs !== runCount) throw busyError(agent);
  try {
    if (activeGroups) setGroups(agent, activeGroups);
    await replaceMessages(agent, messages, restoringNotes(agent, loadedStatus));
  } catch (error) {
    if (groupsBefore) tools.setActiveGroups?.(groupsBefore);
    const rollBack = async (): Promise<void> => {
      const isChanged = (await memory.read()) !== messagesBefore;
      if (isChanged) await replaceMessages(agent, messagesBefore, notesBefore);
    };
    // The caller needs the first error of the store, not an error of the rollback.
    await rollBack().catch(() => {});
    replaceAll(status.state, valuesBefore);
    throw error;
  }
  status.interrupted = loadedStatus.interrupted;
  // It was asked for the conversation before.
  status.pauseNext = false;
  status.openRunId = loadedStatus.openRunId;
  replaceAll(status.state, loadedStatus.state);
  status.calls.clear();
  for (const [id, call] of loadedStatus.calls) status.calls.set(id, call);
}

async function replaceMessages(
  { memory }: Agent,
  messages: readonly Msg[],
  notes: readonly LogNote[],
): Promise<void> {
  await memory.clear();
  await memory.append(messages);
  await logMemoryOf(memory)?.note(notes);
  await memory.flush?.();
}

/** Returns the log's notes, without messages, so that another process can continue from the log. */
function restoringNotes(
  { tools }: Agent,
  { calls, interrupted, openRunId, state }: Omit<AgentStatus, 'runs'>,
): readonly LogNote[] {
  const endReason = interrupted ? 'interrupted' : openRunId && 'suspended';
  const groups = tools.activeGroups?.();
  const storedState: JsonObject = {
    ...(Object.keys(state).length > 0 && { values: { ...state } }),
    ...(groups && { groups: [...groups] }),
  };
  const runNotes = standingNotes({ calls, openRunId, endReason });
  return [...runNotes, { kind: 'state', state: storedState }];
}

function setGroups({ tools }: Agent, names: readonly string[]): void {
  if (!tools.setActiveGroups && names.length > 0) throw stateError('the agent has no tool groups');
  const why = 'activeGroups names a group that the agent does not have';
  attempt(() => tools.setActiveGroups?.(names), why);
}

/**
 * Throws `INVALID_INPUT` if the value is not an agent, and `AGENT_BUSY` while the agent runs a
 * call.
 */
export function checkIdle(agent: Agent): void {
  checkAgent(agent);
  if (agent.busy) throw busyError(agent);
}

/** Throws `INVALID_INPUT` if the value is not an agent. */
export function checkAgent(agent: Agent): void {
  checkFields('The agent', agent, { messages: func }, 'INVALID_INPUT');
}

function busyError({ name }: Agent): AgentError {
  return new AgentError('AGENT_BUSY', `The agent "${name}" is busy. Await its call first.`);
}

function parseState(value: unknown): AgentState {
  // A copy, so that later changes of the original have no effect.
  const copy: unknown = attempt(() => structuredClone(value), 'it is not plain JSON');
  const check = (fields: FieldTable): void =>
    checkFields('The saved state', copy, fields, 'INVALID_STATE');
  check({});
  const state = copy as AgentState;
  const stateVersion: unknown = state.version;
  if (stateVersion !== version) {
    const versionText = isObjectOrArray(stateVersion) ? 'an object' : String(stateVersion);
    throw stateError(`its version is ${versionText}, not ${version}`);
  }
  const messages = attempt(() => parseMessages(state.messages));
  check({ interrupted: boolean, calls: object, state: object });
  if (state.activeGroups !== null) check({ activeGroups: strings });
  if (state.openRunId !== null) check({ openRunId: string });
  if (!isRecord(state.state)) throw stateError('state must be an object');
  checkCalls(state.calls, messages);
  return state;
}

/** Throws `INVALID_STATE` if a call state is damaged or belongs to no open tool call. */
function checkCalls(calls: AgentState['calls'], messages: readonly Msg[]): void {
  const openIds = new Set(openToolUses(messages).map(({ id }) => id));
  for (const [id, call] of Object.entries(calls)) {
    if (!openIds.has(id)) throw stateError(`calls names "${id}", which is not an open tool call`);
    if (!isCallState(call, id)) throw stateError(`calls["${id}"] is not a call state`);
  }
}

/**
 * Returns the value of `work`. Throws `INVALID_STATE` if it throws. Default of `why`: its message.
 */
function attempt<T>(work: () => T, why?: string): T {
  try {
    return work();
  } catch (cause) {
    throw stateError(why ?? errorText(cause), cause);
  }
}

function isCallState(value: unknown, id: string): value is CallState {
  if (!isObjectOrArray(value)) return false;
  const { toolUse, approved, started, decision, pending, waitedFor } = value;
  const isFit = (part: unknown, idKey: string, textKey: string): boolean =>
    part === undefined ||
    (isObjectOrArray(part) && part[idKey] === id && typeof part[textKey] === 'string');
  return (
    [approved, started].every((flag) => flag === undefined || typeof flag === 'boolean') &&
    isFit(toolUse, 'id', 'name') &&
    isFit(decision, 'toolUseId', 'type') &&
    [pending, waitedFor].every((call) => isFit(call, 'toolUseId', 'kind'))
  );
}

function stateError(why: string, cause?: unknown): AgentError {
  return new AgentError('INVALID_STATE', `The saved state can't be loaded: ${why}`, { cause });
}
