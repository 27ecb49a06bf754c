import { logMemoryOf } from '../memory/memory.ts';
import type { Agent } from '../agent/agent.ts';
import { AgentError } from '../error/agent-error.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import { toolResultsOf, toolUsesOf, type Msg } from '../message/msg.ts';
import { isCallId } from '../message/untrusted/untrusted-fields.ts';
import { editProblem } from '../approval/edit-call.ts';
import type { Tool } from '../tool/tool.ts';
import type { ChatLimits } from './chat-turn.ts';

/** Parts of an agent that are needed to check decisions. The caller has read its memory. */
export type DecidingAgent = Pick<Agent, 'memory' | 'tools' | 'status'>;

/** How a client sent its decisions. */
interface AcceptDecisionsOptions {
  /** Whether the list may also contain results of finished tool calls. Default: false. */
  readonly isHistory?: boolean;
  /** Names of the request's fields with the decisions, for errors. Default: `messages`. */
  readonly params?: readonly string[];
}

/**
 * Checks a client's decisions about pending tool calls and returns the valid decisions. Throws
 * `INVALID_DECISION` if there are none, or for a decision that:
 *
 * - is about a tool call that the agent did not make, that is not pending, that has ended, or that
 *   is decided twice;
 * - names another tool than the tool call;
 * - is a result for a tool that the agent runs itself, or for a tool call that waits for an
 *   approval;
 * - is an approval for a tool call that waits for a result;
 * - changes the arguments of a tool call that waits for no approval, or to arguments that do not
 *   fit the tool's schema.
 *
 * A tool that asked the user a question takes a result, which is its answer.
 *
 * With `isHistory`, the list may contain results of finished tool calls, which are skipped.
 */
export async function acceptDecisions(
  agent: DecidingAgent,
  storedMessages: readonly Msg[],
  sentDecisions: readonly Decision[],
  { isHistory = false, params = [] }: AcceptDecisionsOptions = {},
): Promise<readonly Decision[]> {
  const problemOf = await decisionCheck(agent, storedMessages);
  const validDecisions: Decision[] = [];
  for (const [index, decision] of sentDecisions.entries()) {
    const isTwice = validDecisions.some(({ toolUseId }) => toolUseId === decision.toolUseId);
    let problem: string | undefined = 'is decided twice';
    if (!isTwice) problem = await problemOf(decision);
    if (isHistory && decision.type === 'result' && problem === notOpen) continue;
    if (problem) throw decisionError(decision, problem, params[index]);
    validDecisions.push(decision);
  }
  if (validDecisions.length) return validDecisions;
  throw noDecisionError(params[0]);
}

/** Returns the error for decisions that no tool call waits for. */
export function noDecisionError(param = 'messages'): AgentError {
  return new AgentError('INVALID_DECISION', 'No tool call waits for this decision.', {
    details: { param },
  });
}

/**
 * Returns the decisions of a client that the agent can carry out. Skips other decisions without an
 * error: the client sends them again with each message, so every message would fail.
 */
export async function usableDecisions(
  agent: DecidingAgent,
  storedMessages: readonly Msg[],
  sentDecisions: readonly Decision[],
): Promise<readonly Decision[]> {
  if (!sentDecisions.length) return [];
  const problemOf = await decisionCheck(agent, storedMessages);
  const usable: Decision[] = [];
  for (const decision of sentDecisions) if (!(await problemOf(decision))) usable.push(decision);
  return usable;
}

const notOpen = 'is not open';

/** Returns a function that returns why a decision cannot be carried out, or `undefined`. */
async function decisionCheck(
  { memory, tools, status }: DecidingAgent,
  storedMessages: readonly Msg[],
): Promise<(decision: Decision) => Promise<string | undefined>> {
  const log = logMemoryOf(memory);
  await log?.restore(status, tools);
  const endedIds = new Set(storedMessages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId));
  const calls = new Map(storedMessages.flatMap(toolUsesOf).map((call) => [call.id, call]));
  return async (decision) => {
    const { toolUseId, type, name } = decision;
    const call = calls.get(toolUseId);
    if (!call || endedIds.has(toolUseId)) return notOpen;
    if (name !== undefined && name !== call.name) return 'is of another tool';
    const tool = tools.find(call.name);
    // A memory without a log does not know what its tool calls wait for.
    const assumedPending = { kind: runsHere(tool) ? 'approval' : 'external' } as const;
    const pending: PendingKind | undefined =
      status.calls.get(toolUseId)?.pending ?? (log ? undefined : assumedPending);
    if (!pending) return 'waits for no decision';
    const problem = misfit(type, pending, tool);
    if (problem || type !== 'edit') return problem;
    return editProblem(tools, call, decision);
  };
}

type PendingKind = Pick<PendingCall, 'kind' | 'details'>;

/** Returns why a decision is not what the tool call waits for, or `undefined`. */
function misfit(
  type: Decision['type'],
  { kind, details }: PendingKind,
  tool: Tool | string | undefined,
): string | undefined {
  const isExternal = kind === 'external';
  if (type === 'edit' && kind !== 'approval') return 'takes no other arguments from its client';
  if (type === 'approve' && isExternal) return 'waits for a result, not for an approval';
  if (type !== 'result') return undefined;
  // The tool gets the answer to its question. The answer is not the result of the tool call.
  if (details && typeof tool === 'object' && tool.takesDecisions) return undefined;
  return isExternal && !runsHere(tool) ? undefined : 'takes no result from its client';
}

/** Returns whether the agent runs a tool itself. `tool`: result of `ToolSet.find`. */
export function runsHere(tool: Tool | string | undefined): boolean {
  return typeof tool === 'string' || tool?.execute !== undefined;
}

/** Creates the error for a decision that cannot be carried out. */
export function decisionError(
  { toolUseId }: Decision,
  problem: string,
  param = 'messages',
): AgentError {
  const id = isCallId(toolUseId) ? ` ${JSON.stringify(toolUseId)}` : '';
  return new AgentError('INVALID_DECISION', `Tool call${id} ${problem}.`, {
    details: { param },
  });
}

/**
 * Throws `PAYLOAD_TOO_LARGE` if a result, a rejection reason or edited arguments have more than
 * `toolResultChars` characters. `param` returns the field's name.
 */
export function checkDecisionSize(
  decision: Decision,
  { toolResultChars }: Pick<ChatLimits, 'toolResultChars'>,
  param: () => string,
): void {
  if (decisionSize(decision) <= toolResultChars) return;
  const message = `${param()} is longer than ${toolResultChars} characters.`;
  throw new AgentError('PAYLOAD_TOO_LARGE', message, { details: { param: param() } });
}

/** Returns the length of what a decision tells the model, in characters. */
export function decisionSize(decision: Decision): number {
  if (decision.type === 'reject') return decision.reason?.length ?? 0;
  if (decision.type === 'edit') return JSON.stringify(decision.input).length;
  if (decision.type !== 'result') return 0;
  const { output } = decision;
  return typeof output === 'string' ? output.length : JSON.stringify(output).length;
}
