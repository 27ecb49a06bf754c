import { KeptConversation } from '../message/conversation/conversation.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ExtendedMemory, RunEnd } from './memory.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { anything, iterable } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';

/** What happens to tool calls without a result in the messages that a memory begins with. */
export interface InMemoryOptions {
  /**
   * What the first agent does with the open tool calls of the given messages. Nobody noted whether
   * they have started. `run`: their tools run. `interrupt`: they get an `interrupted` result,
   * unless their tool has `replay: 'safe'` or `'ask'`. A tool call that needs approval suspends in
   * both cases. After an agent call that leaves tool calls open, `interrupt` applies to other
   * agents. Default: `interrupt`.
   */
  readonly unnotedCalls?: 'run' | 'interrupt';
}

/**
 * Keeps a conversation in this process, as long as the object lives; the default of an agent.
 * `messages`: a conversation to continue. Source: AgentScope, `InMemoryMemory`.
 */
export class InMemoryMemory implements ExtendedMemory {
  readonly state: Record<string, JsonValue> = {};
  readonly keptConversation: KeptConversation = new KeptConversation();
  unnotedCalls: 'run' | 'interrupt';
  #messages: readonly Msg[];

  constructor(messages: readonly Msg[] = [], options: InMemoryOptions = {}) {
    checkFields('InMemoryMemory', { messages }, { messages: iterable });
    checkOptions('InMemoryMemory', options, inMemoryOptions);
    this.unnotedCalls = options.unnotedCalls ?? 'interrupt';
    this.#messages = [...messages];
  }

  async append(messages: readonly Msg[]): Promise<void> {
    this.#messages = [...this.#messages, ...messages];
  }

  async read(): Promise<readonly Msg[]> {
    return this.#messages;
  }

  async delete(ids: readonly string[]): Promise<void> {
    this.#messages = this.#messages.filter(({ id }) => !ids.includes(id));
  }

  async replace(message: Msg): Promise<void> {
    this.#messages = this.#messages.map((one) => (one.id === message.id ? message : one));
  }

  async clear(): Promise<void> {
    this.#messages = [];
    this.keptConversation.drop();
  }

  async flush(end?: RunEnd): Promise<void> {
    // The agent may have started these calls, so another agent must not start them again.
    if (end?.calls.size) this.unnotedCalls = 'interrupt';
  }
}

const inMemoryOptions: OptionTable<InMemoryOptions> = { unnotedCalls: anything };
