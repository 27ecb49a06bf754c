import type { ToolSchema } from '../../model/chat-model.ts';
import type { Tool } from '../../tool/tool.ts';
import { toolOf, type ToolSet } from '../../tool/set/tool-set.ts';
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

/** The tools of the agent that leads the conversation. The leader may change between two calls. */
export class TeamTools implements ToolSet {
  readonly #offer: Offer;
  #shown: readonly ToolSchema[] = [];
  readonly context: ToolSet['context'];
  readonly activeGroups: ToolSet['activeGroups'];
  readonly setActiveGroups: ToolSet['setActiveGroups'];

  constructor(offer: Offer) {
    const { base } = offer;
    this.#offer = offer;
    this.activeGroups = base.activeGroups?.bind(base);
    this.setActiveGroups = base.setActiveGroups?.bind(base);
    this.context = [
      ...offer.team.members.flatMap(({ tools }) => [...(tools?.context ?? [])]),
      ...(base.context ?? []),
    ];
  }

  find(name: string): Tool | string | undefined {
    const { team, base, shared, leader, allowed } = this.#offer;
    const target = team.targetOf(name);
    if (target) return this.#refusal(target) ?? base.find(name);
    const { tools } = leader();
    if (!tools || shared.has(name)) return base.find(name);
    const isRefused = toolOf(tools, name) && allowed?.includes(name) === false;
    return isRefused ? `Tool not allowed: ${name}.` : tools.find(name);
  }

  schemas(): readonly ToolSchema[] {
    const offered = this.#offered();
    const isSame =
      offered.length === this.#shown.length &&
      offered.every((schema, index) => schema === this.#shown[index]);
    if (!isSame) this.#shown = offered;
    return this.#shown;
  }

  fork(): ToolSet {
    return new TeamTools(this.#offer);
  }

  #offered(): readonly ToolSchema[] {
    const { team, base, shared, leader, allowed } = this.#offer;
    const { tools } = leader();
    const given = base.schemas().filter(({ name }) => {
      const target = team.targetOf(name);
      if (target) return this.#refusal(target) === undefined;
      return !tools || shared.has(name);
    });
    if (!tools) return given;
    const isOwn = ({ name }: ToolSchema): boolean =>
      !shared.has(name) && !team.targetOf(name) && allowed?.includes(name) !== false;
    return [...given, ...tools.schemas().filter(isOwn)];
  }

  /** Returns why the leader cannot hand off to the target, or nothing if it can. */
  #refusal(target: Member): string | undefined {
    const { team, allowed, limit } = this.#offer;
    const leader = this.#offer.leader();
    if (allowed?.includes(target.toolName) === false)
      return `Tool not allowed: ${target.toolName}.`;
    if (!team.targetsOf(leader).includes(target))
      return `"${leader.name}" cannot hand off to "${target.name}".`;
    if (!this.#offer.isFull()) return undefined;
    const handedOff = `The conversation has been handed off ${limit} times`;
    return `${handedOff} since the last question. Answer it yourself.`;
  }
}
