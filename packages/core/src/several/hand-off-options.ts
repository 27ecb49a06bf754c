import { misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import {
  array,
  either,
  func,
  infinity,
  object,
  optional,
  string,
  strings,
  whole,
} from '../error/options/kinds.ts';
import type { OptionTable, OtherNames } from '../error/options/option-table.ts';
import { chatModel } from '../model/model-kind.ts';
import { toolSource } from '../tool/set/tool-source-kind.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel } from '../model/chat-model.ts';
import type { SchemaLike } from '../schema/schema.ts';
import type { ToolContext, ToolSource } from '../tool/tool.ts';

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
  /** Names of the agents that may take over from this one. Default: all others. */
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

/** The agents of `handOff()`, and how often they may pass the conversation on. */
export interface HandOffOptions {
  /** The agents that can take over. */
  readonly to: readonly HandOffAgent[];
  /**
   * How the others see the agent that has `handOff()`. They can hand the conversation back to it.
   */
  readonly own?: Partial<HandOffTarget>;
  /**
   * Maximum number of hand-offs between a question and its answer, over all runs that resume it. At
   * the limit, the models get no more tools for hand-offs, so that the active agent answers.
   * Default: 5.
   */
  readonly limit?: number;
  /**
   * Function that runs before a hand-off, with the arguments of the model as `input`. If it throws,
   * the conversation stays with its agent, and the model gets an error result.
   */
  readonly onHandOff?: (
    handOff: HandOff & { readonly input: unknown },
    context: ToolContext,
  ) => void | Promise<void>;
}

const handOffOptions: OptionTable<HandOffOptions> = {
  to: array,
  own: optional(object),
  limit: optional(either(whole, infinity)),
  onHandOff: optional(func),
};

const targetOptions: OptionTable<Omit<HandOffTarget, 'description'>> = {
  toolName: optional(string),
  input: optional(object),
  to: optional(strings),
  inputFilter: optional(func),
};

const ownOptions: OptionTable<Partial<HandOffTarget>> = {
  description: optional(string),
  ...targetOptions,
};

const agentOptions: OptionTable<HandOffAgent> = {
  name: string,
  systemPrompt: string,
  description: string,
  model: optional(chatModel),
  tools: optional(toolSource),
  ...targetOptions,
};

const otherNames: OtherNames<HandOffOptions> = { to: ['agents', 'handoffs', 'targets'] };

const otherTargetNames: OtherNames<HandOffAgent> = {
  systemPrompt: ['instructions', 'system', 'prompt'],
  description: ['handoffDescription'],
};

/** Throws `CONFIGURATION` for an option or an agent of the wrong form. */
export function checkHandOffOptions(options: HandOffOptions): void {
  checkOptions('handOff()', options, handOffOptions, 'CONFIGURATION', otherNames);
  const { to, own = {} } = options;
  if (!to.length) throw misconfigured('handOff() needs an agent in `to`.');
  for (const [index, agent] of to.entries())
    checkOptions(`handOff(): to[${index}]`, agent, agentOptions, 'CONFIGURATION', otherTargetNames);
  checkOptions('handOff(): own', own, ownOptions);
}
