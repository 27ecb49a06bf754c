import { misconfigured } from '../../error/agent-error.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import { metadataOf } from '../../message/metadata-keys.ts';
import type { Msg } from '../../message/msg.ts';
import { boundedModel } from '../../model/bounded-model.ts';
import { ToolList } from '../../tool/set/tool-list.ts';
import type { ForkOptions, ToolSet } from '../../tool/set/tool-set.ts';
import { toolNameOf, type HandOffAgent } from './hand-off-agent.ts';
import type { HandOffOptions } from './hand-off.ts';

/** One agent of a team. The agent that has `handOff()` has no tools, prompt and model here. */
export interface Member extends Omit<HandOffAgent, 'tools' | 'systemPrompt' | 'to'> {
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
  /** The agent that has `handOff()`. It leads the conversation until the first hand-off. */
  readonly own: Member;
  readonly members: readonly Member[];
  readonly #byTool: ReadonlyMap<string, Member>;
  /** The members to which a member may hand off. */
  readonly #targets: ReadonlyMap<Member, readonly Member[]>;

  /**
   * `name`: name of the agent that has `handOff()`. Throws `CONFIGURATION` for two agents or tools
   * of one name, and for an unknown name in a list `to`.
   */
  constructor(name: string, { to, own = {} }: HandOffOptions, fork: ForkOptions) {
    const description = 'Led the conversation at its start.';
    this.own = memberOf({ description, ...own, name });
    this.members = [this.own, ...to.map((agent) => memberOf(agent, fork))];
    refuseRepeated('name', this.members);
    refuseRepeated('toolName', this.members);
    this.#byTool = new Map(this.members.map((member) => [member.toolName, member]));
    const names = [own, ...to].map((agent) => agent.to);
    this.#targets = new Map(
      this.members.map((member, index) => [member, this.#named(member, names[index])]),
    );
  }

  /** Returns the members to which a member may hand off. */
  targetsOf(member: Member): readonly Member[] {
    return this.#targets.get(member)!;
  }

  /** Returns the member to which calls of this tool pass the conversation. */
  targetOf(toolName: string): Member | undefined {
    return this.#byTool.get(toolName);
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
    // Whoever imports a conversation does not choose who leads it.
    if (message.role !== 'tool' || metadataOf(message).imported) return [];
    return toolResultsOf(message).flatMap(({ name, state, toolUseId }) => {
      const to = state === 'success' ? this.#byTool.get(name) : undefined;
      return to ? { to, toolUseId } : [];
    });
  }

  #named(member: Member, names: readonly string[] | undefined): readonly Member[] {
    const others = this.members.filter((other) => other !== member);
    const wrong = names?.find((name) => !others.some((other) => other.name === name));
    if (wrong === undefined)
      return names ? others.filter(({ name }) => names.includes(name)) : others;
    const message = `handOff(): "${member.name}" cannot hand off to "${wrong}"`;
    throw misconfigured(`${message}, which is no other agent of the team.`);
  }
}

type Given = Omit<HandOffAgent, 'systemPrompt'> & Partial<Pick<HandOffAgent, 'systemPrompt'>>;

function memberOf(given: Given, fork?: ForkOptions): Member {
  const { name, model, tools = [] } = given;
  const set = Symbol.iterator in tools ? new ToolList(tools) : tools;
  return {
    ...given,
    toolName: toolNameOf(name, given.toolName),
    ...(model && { model: boundedModel(model) }),
    tools: fork && set.fork(fork),
  };
}

function refuseRepeated(key: 'name' | 'toolName', members: readonly Member[]): void {
  const values = members.map((member) => member[key]);
  const twice = values.find((value, index) => values.indexOf(value) !== index);
  if (twice !== undefined) throw misconfigured(`handOff(): two agents have the ${key} "${twice}".`);
}
