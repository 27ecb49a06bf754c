import { misconfigured } from '../error/agent-error.ts';
import { toolResultsOf, toolUseIn, type Msg } from '../message/msg.ts';
import { metadataOf } from '../message/metadata.ts';
import { boundedModel } from '../model/reply/bounded-model.ts';
import { toolList, type ForkOptions, type ToolSet } from '../tool/set/tool-set.ts';
import { agentToolName } from '../tool/name-pattern.ts';
import type { HandOffAgent, HandOffOptions } from './hand-off-options.ts';

/** One agent of a team. The agent that has `handOff()` has no tools, prompt and model here. */
export interface Member extends Omit<HandOffAgent, 'tools' | 'systemPrompt'> {
  readonly toolName: string;
  readonly systemPrompt?: string;
  readonly tools: ToolSet | undefined;
}

/** A hand-off in a conversation. */
interface LoggedHandOff {
  readonly to: Member;
  /** Id of its tool call. */
  readonly toolUseId: string;
}

/** The agent that has `handOff()`, and those in its list `to`. Reads hand-offs from the log. */
export class Team {
  /** The agent that has `handOff()`. It is active until the first hand-off. */
  readonly own: Member;
  readonly members: readonly Member[];

  /**
   * `name`: name of the agent that has `handOff()`. Throws `CONFIGURATION` for two agents or tools
   * of one name, and for an unknown name in a list `to`.
   */
  constructor(name: string, { to, own = {} }: HandOffOptions, fork: ForkOptions) {
    const { description = 'The agent that answers first.' } = own;
    const toolName = handOffToolName({ ...own, name });
    this.own = { ...own, name, description, toolName, tools: undefined };
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

  /** Returns the member that is active after the messages. */
  activeAfter(messages: readonly Msg[]): Member {
    return this.newestIn(messages)?.to ?? this.own;
  }

  /** Returns the member whose reply has this tool call of a hand-off. */
  activeBefore(messages: readonly Msg[], toolUseId: string): Member {
    const replyIndex = messages.findLastIndex((message) => toolUseIn(message, toolUseId));
    return this.activeAfter(messages.slice(0, replyIndex));
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

function memberOf(agent: HandOffAgent, fork: ForkOptions): Member {
  const { model, tools = [] } = agent;
  const toolSet = Symbol.iterator in tools ? toolList(tools) : tools;
  return {
    ...agent,
    toolName: handOffToolName(agent),
    ...(model && { model: boundedModel(model) }),
    tools: toolSet.fork(fork),
  };
}

function handOffToolName({ name, toolName }: Pick<HandOffAgent, 'name' | 'toolName'>): string {
  return toolName ?? agentToolName('transfer_to_', name, 'toolName');
}

function refuseRepeated(key: 'name' | 'toolName', members: readonly Member[]): void {
  const values = members.map((member) => member[key]);
  const repeatedValue = values.find((value, index) => values.indexOf(value) !== index);
  if (repeatedValue !== undefined)
    throw misconfigured(`handOff(): two agents have the ${key} "${repeatedValue}".`);
}
