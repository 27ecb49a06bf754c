import { viewOf, type ToolSet } from '../../tool/set/tool-set.ts';
import type { Member, Team } from './team.ts';

/** What decides which tools a team offers. */
export interface Offer {
  readonly team: Team;
  /** The tools of the agent that has `handOff()`, of middleware, and those for hand-offs. */
  readonly base: ToolSet;
  /** Names of the tools that serve all members, such as those of middleware. */
  readonly shared: ReadonlySet<string>;
  /** The names of `allowTools` of the agent call. `undefined`: all. */
  readonly allowed: readonly string[] | undefined;
  /** Returns the member that leads the conversation. */
  leader(): Member;
  /** Whether the turn has had as many hand-offs as the limit allows. */
  isFull(): boolean;
  readonly limit: number;
}

/**
 * Returns the tools of the agent that leads the conversation, with those of all members. The leader
 * may change between two calls.
 */
export function teamTools(offer: Offer): ToolSet {
  const { team, base, shared, leader, allowed } = offer;
  /** Returns the set whose tool of this name counts. */
  const setOf = (name: string): ToolSet =>
    shared.has(name) || team.targetOf(name) ? base : (leader().tools ?? base);
  const refusal = (name: string): string | undefined => {
    const target = team.targetOf(name);
    if (target) return refusalOf(target, offer);
    const isAllowed = setOf(name) === base || allowed?.includes(name) !== false;
    return isAllowed ? undefined : `Tool not allowed: ${name}.`;
  };
  const all: ToolSet = {
    context: [...team.members.map(({ tools }) => tools), base].flatMap((set) => [
      ...(set?.context ?? []),
    ]),
    activeGroups: base.activeGroups?.bind(base),
    setActiveGroups: base.setActiveGroups?.bind(base),
    find: (name) => setOf(name).find(name),
    schemas() {
      const sets = new Set([base, leader().tools ?? base]);
      return [...sets].flatMap((set) => set.schemas().filter(({ name }) => setOf(name) === set));
    },
    fork: () => all,
  };
  return viewOf(all, {
    offered: (schemas) => schemas.filter(({ name }) => refusal(name) === undefined),
    refusal: ({ name }) => refusal(name),
  });
}

/** Returns why the leader cannot hand off to the target, or nothing if it can. */
function refusalOf(target: Member, offer: Offer): string | undefined {
  const { team, allowed, limit } = offer;
  const leader = offer.leader();
  if (allowed?.includes(target.toolName) === false) return `Tool not allowed: ${target.toolName}.`;
  if (!team.targetsOf(leader).includes(target))
    return `"${leader.name}" cannot hand off to "${target.name}".`;
  if (!offer.isFull()) return undefined;
  const handedOff = `The conversation has been handed off ${limit} times`;
  return `${handedOff} since the last question. Answer it yourself.`;
}
