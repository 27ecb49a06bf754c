import type { RequestDraft } from '../agent/middleware.ts';
import { toolResultsOf, type Msg } from '../message/msg.ts';
import type { Member, Team } from './team.ts';

/**
 * Returns a function that leaves out of a request what the `inputFilter` of the active agent leaves
 * out. Calls the filter once per hand-off.
 */
export function visibleHistory(team: Team): (draft: RequestDraft, active: Member) => RequestDraft {
  let filtered: { readonly toolUseId: string; readonly history: readonly Msg[] } | undefined;
  return (draft, { inputFilter, name: to }) => {
    const { messages, fixedCount } = draft;
    const newest = inputFilter && team.newestIn(messages);
    if (!newest) return draft;
    const { toolUseId } = newest;
    const end = roundEnd(messages, toolUseId);
    if (filtered?.toolUseId !== toolUseId) {
      const { name: from } = team.activeBefore(messages, toolUseId);
      const history = inputFilter(messages.slice(fixedCount, end), { from, to });
      filtered = { toolUseId, history };
    }
    const fixed = messages.slice(0, fixedCount);
    return { ...draft, messages: [...fixed, ...filtered.history, ...messages.slice(end)] };
  };
}

/** Returns the index after the results of the round that has this tool call. */
function roundEnd(messages: readonly Msg[], toolUseId: string): number {
  const resultIndex = messages.findLastIndex((message) =>
    toolResultsOf(message).some((one) => one.toolUseId === toolUseId),
  );
  const nextIndex = messages.findIndex(({ role }, index) => index > resultIndex && role !== 'tool');
  return nextIndex < 0 ? messages.length : nextIndex;
}
