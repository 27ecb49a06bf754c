import { misconfigured } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import type { SchemaLike } from '../../schema/to-schema.ts';
import type { GivenTools } from '../../tool/typed-tool.ts';

/** A change of the agent that leads the conversation. */
export interface HandOff {
  /** Name of the agent that passes the conversation on. */
  readonly from: string;
  /** Name of the agent that takes over. */
  readonly to: string;
}

/**
 * Returns the part of the history that an agent sees. `history`: the conversation up to the hand-off
 * and the results of its round. Later messages always follow. Keep each tool call together with its
 * results.
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
  readonly tools?: GivenTools;
}

/** Fields of `HandOffTarget` for `checkOptions`. */
const targetFields =
  'toolName:string|? input:object|? to:names|? inputFilter:function|? description:string';

/** Fields of `HandOffAgent` for `checkOptions`. */
const agentFields = `name,systemPrompt:string model:stream()|? tools:array|schemas()|? ${targetFields}`;

/** Throws `CONFIGURATION` for an agent of the wrong form, and for two agents of one name. */
export function checkAgents(agents: readonly HandOffAgent[], own: object): void {
  if (!agents.length) throw misconfigured('handOff() needs an agent in `to`.');
  for (const [index, agent] of agents.entries())
    checkOptions(`handOff(): to[${index}]`, agent, agentFields);
  const optional = targetFields.replace('description:string', 'description:string|?');
  checkOptions('handOff(): own', own, optional);
}

/** Returns the name of the tool that passes the conversation to an agent. */
export function toolNameOf(name: string, given?: string): string {
  const made = given ?? `transfer_to_${name.replace(/[^\w-]+/g, '_')}`.slice(0, 64);
  if (given !== undefined || /[a-z\d]/i.test(made.slice('transfer_to_'.length))) return made;
  const message = `The agent "${name}" needs a \`toolName\`, because its name has no ASCII letters or digits.`;
  throw misconfigured(message);
}
