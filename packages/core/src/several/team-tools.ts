import { objectInput } from '../schema/schema.ts';
import {
  filteredTools,
  groupsOf,
  toolsIn,
  whenAllListed,
  type ToolSet,
} from '../tool/set/tool-set.ts';
import { tool, type Tool } from '../tool/tool.ts';
import type { HandOffOptions } from './hand-off-options.ts';
import type { Member, Team } from './team.ts';

/** Creates the tool with which the active agent passes the conversation to another one. */
export function handOffTool(
  target: Member,
  active: () => Member,
  { onHandOff }: Pick<HandOffOptions, 'onHandOff'>,
): Tool {
  const created = tool({
    name: target.toolName,
    description: `Passes the conversation to the agent "${target.name}". ${target.description}`,
    input: target.input ?? objectInput({}),
    // A hand-off changes nothing but the log, unless somebody is told about it.
    replay: onHandOff ? 'never' : 'safe',
    execute: async (input, context) => {
      const handOff = { from: active().name, to: target.name };
      await onHandOff?.({ ...handOff, input }, context);
      context.emit({ type: 'data-hand-off', data: handOff });
      return `The agent "${target.name}" answers from now on.`;
    },
  });
  return { ...created, alwaysOffered: true };
}

/** What the tools of a team depend on. */
interface TeamToolsOptions {
  /** Tools of the agent that has `handOff()`, of middleware, and those for hand-offs. */
  readonly ownTools: ToolSet;
  /** Names of those in `ownTools` that serve all members. They precede a member's own tools. */
  readonly shared: ReadonlySet<string>;
  /** The option of the agent call. `ownTools` already follow it, except those for hand-offs. */
  readonly allowTools: readonly string[] | undefined;
  /** Returns the active agent, which may be another one at the next call. */
  active(): Member;
  /** Returns why the active agent cannot hand off to a member, or nothing if it can. */
  refusal(target: Member): string | undefined;
}

/** Returns the tools of the active agent, with those that serve all members. */
export function teamTools(team: Team, options: TeamToolsOptions): ToolSet {
  const { ownTools, shared, allowTools, active, refusal } = options;
  const sets = [...team.members.flatMap(({ tools }) => tools ?? []), ownTools];
  /** Returns the set whose tool of this name counts. */
  const setOf = (name: string): ToolSet => {
    const memberTools = shared.has(name) ? undefined : active().tools;
    return memberTools ?? ownTools;
  };
  const tools: ToolSet = {
    ...groupsOf(ownTools),
    toolContext: sets.flatMap(({ toolContext = [] }) => [...toolContext]),
    find: (name) => setOf(name).find(name),
    schemas() {
      const offered = new Set([ownTools, active().tools ?? ownTools]);
      return [...offered].flatMap((set) => set.schemas().filter(({ name }) => setOf(name) === set));
    },
    allTools: () => sets.flatMap(toolsIn),
    whenListed: (signal) => whenAllListed([ownTools, active().tools ?? ownTools], signal),
    fork: () => tools,
  };
  return filteredTools(tools, {
    refusal({ name }) {
      const target = team.targetOf(name);
      const isUnfiltered = target !== undefined || setOf(name) !== ownTools;
      if (isUnfiltered && allowTools?.includes(name) === false) return `Tool not allowed: ${name}.`;
      return target && refusal(target);
    },
  });
}
