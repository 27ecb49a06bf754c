import type { AgentStatus } from '../../event/agent-status.ts';
import { isRecord } from '../../message/is-record.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { SessionView } from './session-view.ts';

/**
 * What a log keeps of an agent beside messages and calls: the values of its session, and which of
 * its tool groups are active.
 */
export class KeptState {
  readonly #status: AgentStatus;
  readonly #tools: ToolSet;
  /** As the log has them, as far as is known. */
  #values = '{}';
  #groups: string | undefined;

  constructor(status: AgentStatus, tools: ToolSet) {
    this.#status = status;
    this.#tools = tools;
  }

  /** Whether it is of this agent. */
  isOf(status: AgentStatus): boolean {
    return this.#status === status;
  }

  /**
   * Takes over what the log has and is new; values that the agent was given meanwhile stay, groups
   * where they were switched after its first call.
   */
  restore({ state }: SessionView): void {
    const { values, groups } = state;
    const text = JSON.stringify(values ?? {});
    if (text !== this.#values && isRecord(values)) {
      const own = this.#status.state;
      const changed = JSON.stringify(own) === this.#values ? {} : { ...own };
      for (const name of Object.keys(own)) delete own[name];
      Object.assign(own, structuredClone(values), changed);
    }
    this.#values = text;
    if (Array.isArray(groups) && JSON.stringify(groups) !== this.#groups) {
      if (
        this.#groups === undefined ||
        JSON.stringify(this.#tools.activeGroups?.()) === this.#groups
      )
        this.#setGroups(groups);
      this.#groups = JSON.stringify(groups);
    }
  }

  /** What is to be noted, if anything; it counts as noted. */
  changes(): JsonObject | undefined {
    const values = JSON.stringify(this.#status.state);
    const groups = JSON.stringify(this.#tools.activeGroups?.());
    const changes: Record<string, JsonValue> = {};
    if (values !== this.#values) changes['values'] = JSON.parse(values) as JsonValue;
    if (groups !== undefined && groups !== this.#groups)
      changes['groups'] = JSON.parse(groups) as JsonValue;
    this.#values = values;
    this.#groups = groups;
    return Object.keys(changes).length > 0 ? changes : undefined;
  }

  /** A group that the agent has no longer is left out. */
  #setGroups(groups: readonly JsonValue[]): void {
    const names = groups.filter((name) => typeof name === 'string');
    try {
      this.#tools.setActiveGroups?.(names);
    } catch {
      for (const name of names) {
        try {
          this.#tools.setActiveGroups?.([...(this.#tools.activeGroups?.() ?? []), name]);
        } catch {
          // It is gone.
        }
      }
    }
  }
}
