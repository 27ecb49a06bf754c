import { misconfigured, checkOptions } from '../../error/agent-error.ts';
import { toolResultsOf, type Msg } from '../../message/msg.ts';
import { metadataOf } from '../../message/metadata.ts';
import { boundedModel } from '../../model/bounded-model.ts';
import { toolList, type ForkOptions, type ToolSet } from '../../tool/set/tool-set.ts';
import { agentToolName } from '../../tool/name-pattern.ts';
import type { HandOffOptions } from './hand-off.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import type { SchemaLike } from '../../schema/schema.ts';
import type { ToolSource } from '../../tool/tool.ts';

/** One agent of a team. The agent that has `handOff()` has no tools, prompt and model here. */
export interface Member extends Omit<HandOffAgent, 'tools' | 'systemPrompt'> {
  readonly toolName: string;
  readonly systemPrompt?: string;
  readonly tools: ToolSet | undefined;
}

/** A hand-off in a conversation. */
export interface LoggedHandOff {
  readonly to: Member;
  /** Id of its tool call. */
  readonly toolUseId: string;
}

/** The agent that has `handOff()`, and those in its list `to`. */
export class Team {
  /** The agent that has `handOff()`. It is active until the first hand-off. */
  readonly own: Member;
  readonly members: readonly Member[];

  /**
   * `name`: name of the agent that has `handOff()`. Throws `CONFIGURATION` for two agents or tools
   * of one name, and for an unknown name in a list `to`.
   */
  constructor(name: string, { to, own = {} }: HandOffOptions, fork: ForkOptions) {
    this.own = memberOf({ description: 'The agent that answers first.', ...own, name });
    this.members = [this.own, ...to.map((agent) => memberOf(agent, fork))];
    refuseRepeated('name', this.members);
    refuseRepeated('toolName', this.members);
    for (const member of this.members) this.#checkTargets(member);
  }

  /** Returns whether a member may hand off to another one. */
  mayHandOff(from: Member, to: Member): boolean {
    return from !== to && from.to?.includes(to.name) !== false;
  }

  /** Returns the member to which calls of this tool pass the conversation. */
  targetOf(toolName: string): Member | undefined {
    return this.members.find((member) => member.toolName === toolName);
  }

  /**
   * Returns the newest hand-off in the messages. Its tool call has a successful result. Imported
   * messages have no hand-offs.
   */
  newestIn(messages: readonly Msg[]): LoggedHandOff | undefined {
    const newest = messages.findLast((message) => this.#handOffsIn(message).length);
    return newest && this.#handOffsIn(newest)[0];
  }

  /** Returns the number of hand-offs in the messages. */
  countIn(messages: readonly Msg[]): number {
    return messages.reduce((sum, message) => sum + this.#handOffsIn(message).length, 0);
  }

  #handOffsIn(message: Msg): readonly LoggedHandOff[] {
    // Whoever imports a conversation does not choose the active agent.
    if (message.role !== 'tool' || metadataOf(message).imported) return [];
    return toolResultsOf(message).flatMap(({ name, state, toolUseId }) => {
      const to = state === 'success' ? this.targetOf(name) : undefined;
      return to ? { to, toolUseId } : [];
    });
  }

  #checkTargets({ name, to = [] }: Member): void {
    const others = this.members.map((other) => other.name).filter((other) => other !== name);
    const unknownName = to.find((target) => !others.includes(target));
    if (unknownName === undefined) return;
    const message = `handOff(): "${name}" cannot hand off to "${unknownName}"`;
    throw misconfigured(`${message}, which is no other agent of the team.`);
  }
}

type MemberOptions = Omit<HandOffAgent, 'systemPrompt'> &
  Partial<Pick<HandOffAgent, 'systemPrompt'>>;

function memberOf(options: MemberOptions, fork?: ForkOptions): Member {
  const { name, model, tools = [] } = options;
  const toolSet = Symbol.iterator in tools ? toolList(tools) : tools;
  return {
    ...options,
    toolName: options.toolName ?? agentToolName('transfer_to_', name, 'toolName'),
    ...(model && { model: boundedModel(model) }),
    tools: fork && toolSet.fork(fork),
  };
}

function refuseRepeated(key: 'name' | 'toolName', members: readonly Member[]): void {
  const values = members.map((member) => member[key]);
  const repeatedValue = values.find((value, index) => values.indexOf(value) !== index);
  if (repeatedValue !== undefined)
    throw misconfigured(`handOff(): two agents have the ${key} "${repeatedValue}".`);
}

/** A change of the active agent. */
export interface HandOff {
  /** Name of the agent that passes the conversation on. */
  readonly from: string;
  /** Name of the agent that takes over. */
  readonly to: string;
}

/**
 * Returns the part of the history that an agent sees. `history`: the conversation up to the
 * hand-off and the results of its round. Later messages always follow. Keep each tool call together
 * with its results.
 */
export type HandOffFilter = (history: readonly Msg[], handOff: HandOff) => readonly Msg[];

/** How the other agents see an agent, and what it sees of the conversation. */
export interface HandOffTarget {
  /** Purpose of the agent. The models of the others read it to choose the agent. */
  readonly description: string;
  /**
   * Name of the tool with which others pass the conversation to the agent. Default:
   * `transfer_to_<name>`, shortened to 64 characters.
   */
  readonly toolName?: string;
  /** Schema of the arguments of that tool. Default: no arguments. */
  readonly input?: SchemaLike;
  /** Names of the agents to which the agent may hand off. Default: all others. */
  readonly to?: readonly string[];
  /** Part of the history that the agent sees after a hand-off to it. Default: all of it. */
  readonly inputFilter?: HandOffFilter;
}

/** An agent that can take over the conversation of the agent with `handOff()`. */
export interface HandOffAgent extends HandOffTarget {
  /** Name in the messages that the agent writes. */
  readonly name: string;
  readonly systemPrompt: string;
  /** Default: the model of the agent that has `handOff()`. */
  readonly model?: ChatModel;
  /** Default: no tools. Tools of the middleware in `use` serve all agents. */
  readonly tools?: ToolSource;
}

/** Fields of `HandOffTarget` for `checkOptions`. */
const targetFields =
  'toolName:string|? input:object|? to:names|? inputFilter:function|? description:string';

/** Fields of `HandOffAgent` for `checkOptions`. */
const agentFields = `name,systemPrompt:string model:stream()|? tools:array|schemas()|? ${targetFields}`;

/** Throws `CONFIGURATION` for an agent of the wrong form, and for two agents of one name. */
export function checkAgents(agents: readonly HandOffAgent[], options: object): void {
  if (!agents.length) throw misconfigured('handOff() needs an agent in `to`.');
  for (const [index, agent] of agents.entries())
    checkOptions(`handOff(): to[${index}]`, agent, agentFields);
  const optional = targetFields.replace('description:string', 'description:string|?');
  checkOptions('handOff(): own', options, optional);
}
