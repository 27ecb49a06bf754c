import { checkOptions } from '../error/check-fields.ts';
import type { JsonValue } from '../message/json/json.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder, orderFrom, settledIn } from '../message/tool-pairs.ts';
import type { Memory, RunEnd } from './memory.ts';

export interface InMemoryOptions {
  /**
   * What the first agent does with the open tool calls of the given messages. Nobody noted whether
   * they have started. `run`: their tools run. `interrupt`: they get an `interrupted` result, unless
   * their tool has `replay: 'safe'` or `'ask'`. A tool call that needs approval suspends in both
   * cases. After an agent call that leaves tool calls open, `interrupt` applies to other agents.
   * Default: `interrupt`.
   */
  readonly openCalls?: 'run' | 'interrupt';
}

/** A conversation that lives as long as the object (AgentScope: `InMemoryMemory`). */
export class InMemoryMemory implements Memory {
  readonly state: Record<string, JsonValue> = {};
  openCalls: 'run' | 'interrupt';
  #messages: readonly Msg[];
  /** Messages after those. A copy of all messages for each one would take quadratic time. */
  #appended: Msg[] = [];
  /** Number of messages at the start that are in order and need no further look. */
  #settled = 0;

  constructor(messages: readonly Msg[] = [], options: InMemoryOptions = {}) {
    checkOptions('CONFIGURATION', 'InMemoryMemory', options, 'openCalls');
    this.#messages = messages;
    this.openCalls = options.openCalls ?? 'interrupt';
  }

  async append(messages: readonly Msg[]): Promise<void> {
    for (const message of messages) this.#appended.push(message);
  }

  async read(): Promise<readonly Msg[]> {
    this.#messages = orderFrom(this.#all(), this.#settled, inRequestOrder);
    this.#settled = settledIn(this.#messages, this.#settled);
    return this.#messages;
  }

  async delete(ids: readonly string[]): Promise<void> {
    this.#edit(this.#all().filter(({ id }) => !ids.includes(id)));
  }

  async replace(message: Msg): Promise<void> {
    this.#edit(this.#all().map((one) => (one.id === message.id ? message : one)));
  }

  async clear(): Promise<void> {
    this.#edit([]);
  }

  async flush(end?: RunEnd): Promise<void> {
    // The agent may have started these calls, so another agent must not start them again.
    if (end?.calls.size) this.openCalls = 'interrupt';
  }

  #edit(messages: readonly Msg[]): void {
    this.#messages = messages;
    this.#appended = [];
    this.#settled = 0;
  }

  #all(): readonly Msg[] {
    if (this.#appended.length) this.#messages = [...this.#messages, ...this.#appended];
    this.#appended = [];
    return this.#messages;
  }
}
