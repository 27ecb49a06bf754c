import { AgentError } from '../../error/agent-error.ts';
import type { CallState } from '../../event/agent-status.ts';
import { toolResultsOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import type { SessionView } from '../log/session-view.ts';

/** Key, in the `state` of a session, of the names of tool calls that must not run again. */
export const endedCallsKey = 'endedCalls';

type CallView = Pick<SessionView, 'messages' | 'calls' | 'state'>;

/**
 * Returns the names of the tool calls that must not run again, because they have a result or have
 * started. The log may no longer have their messages.
 */
export function endedCallsOf(view: CallView): readonly string[] {
  const { messages, calls, state } = view;
  const waitingNames = new Set(
    namedCalls(messages).flatMap(({ id, name }) => (isWaiting(calls.get(id)) ? name : [])),
  );
  const listedNames = listedCalls(state).filter((name) => !waitingNames.has(name));
  return [...new Set([...listedNames, ...endedCallsIn(messages, calls)])];
}

/**
 * Returns the names of the ended or started tool calls of messages. `allMessages`: the history with
 * the results. Default: the messages.
 */
export function endedCallsIn(
  messages: readonly Msg[],
  calls: SessionView['calls'],
  allMessages: readonly Msg[] = messages,
): readonly string[] {
  const ended = namedCalls(messages).filter(({ id }) => !isWaiting(calls.get(id)));
  if (!ended.length) return [];
  const movedIds = closedByMoves(allMessages);
  return ended.flatMap(({ id, name }) => (movedIds.has(id) ? [] : name));
}

/** Returns the ids of the tool calls that only a move has closed. Their tools have not run here. */
function closedByMoves(messages: readonly Msg[]): ReadonlySet<string> {
  const results = messages.flatMap((message) =>
    toolResultsOf(message).map(({ toolUseId: id }) => ({
      id,
      isOfMove: message.id === closedByMoveId(id),
    })),
  );
  const movedIds = new Set(results.flatMap(({ id, isOfMove }) => (isOfMove ? id : [])));
  for (const { id, isOfMove } of results) if (!isOfMove) movedIds.delete(id);
  return movedIds;
}

/**
 * Returns the ids of the tool calls that have ended here. Ids may have slashes, so each part of a
 * name after a slash may be the id.
 */
export function endedIdsOf(view: CallView): ReadonlySet<string> {
  const partsOf = (name: string): readonly string[] =>
    [...name.matchAll(/\//g)].map(({ index }) => name.slice(index + 1));
  return new Set(endedCallsOf(view).flatMap(partsOf));
}

function isWaiting(state: CallState | undefined): boolean {
  return state !== undefined && !state.started;
}

/**
 * Returns the id of the message with which an import closes a tool call that must not run. Its tool
 * has not run here, so the same copy may come again.
 */
export function closedByMoveId(toolUseId: string): string {
  return `moved ${toolUseId}`;
}

/** Returns the ended tool calls whose messages the log no longer has. */
export function listedCalls(state: SessionView['state']): readonly string[] {
  const list = state[endedCallsKey];
  return Array.isArray(list) ? (list as readonly string[]) : [];
}

/** Returns the session with more ended tool calls, whose messages its log does not have. */
export function withEndedCalls(view: SessionView, names: readonly string[]): SessionView {
  const { messages, calls, openRunId, endReason, stoppedRunId, summary, reply, state } = view;
  const list = [...new Set([...listedCalls(state), ...names])];
  return {
    messages,
    calls,
    openRunId,
    endReason,
    stoppedRunId,
    summary,
    reply,
    state: { ...state, [endedCallsKey]: list },
  };
}

/** Returns the ended tool calls whose messages a new state of the session does not contain. */
export function endedCallsBefore(earlier: CallView, next: CallView): readonly string[] {
  const ownCalls = new Set(endedCallsIn(next.messages, next.calls));
  const names = new Set([...endedCallsOf(earlier), ...listedCalls(next.state)]);
  return [...names].filter((name) => !ownCalls.has(name));
}

/**
 * Throws `SESSION_CONFLICT` if a tool call waits in the copy, but has ended or started here. The
 * copy is then an older state of the session, and the tool would run again.
 */
export function checkNotOlder(copy: CallView, stored: CallView): void {
  const endedCalls = new Set(endedCallsOf(stored));
  const rerun = namedCalls(copy.messages).find(({ id, name }) => {
    const state = copy.calls.get(id);
    const mayRun = state && (!state.started || state.pending);
    return mayRun && endedCalls.has(name);
  });
  if (!rerun) return;
  const message = `The copy is an older state of the session: its tool call "${rerun.id}" has run here since. Use a newer copy.`;
  throw new AgentError('SESSION_CONFLICT', message, { details: { toolUseId: rerun.id } });
}

/** Returns the tool calls of the messages. Model servers may use an id again in a later message. */
function namedCalls(
  messages: readonly Msg[],
): readonly { readonly id: string; readonly name: string }[] {
  return messages.flatMap((message) =>
    toolUsesOf(message).map(({ id }) => ({ id, name: `${message.id}/${id}` })),
  );
}
