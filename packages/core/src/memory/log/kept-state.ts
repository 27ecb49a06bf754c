import type { AgentStatus } from '../../event/agent-status.ts';
import { isRecord } from '../../message/is-record.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { SessionView } from './session-view.ts';

/**
 * The agent state in a log besides messages and calls: the session's values and the active tool
 * groups.
 */
export class KeptState {
  readonly #status: AgentStatus;
  readonly #tools: ToolSet;
  /** The log's last known values, as JSON; `#groups` likewise. */
  #values = '{}';
  #groups: string | undefined;

  constructor(status: AgentStatus, tools: ToolSet) {
    this.#status = status;
    this.#tools = tools;
  }

  /** Returns whether this state belongs to the agent with this status. */
  isOf(status: AgentStatus): boolean {
    return this.#status === status;
  }

  /**
   * Applies what is new in the log. Values that the agent received meanwhile stay. Tool groups stay
   * if they were switched after the agent's first call.
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

  /** Returns the changes to note, if any, and counts them as noted. */
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

  /** Sets the active groups; leaves out those that the agent no longer has. */
  #setGroups(groups: readonly JsonValue[]): void {
    const names = groups.filter((name) => typeof name === 'string');
    try {
      this.#tools.setActiveGroups?.(names);
    } catch {
      for (const name of names) {
        try {
          this.#tools.setActiveGroups?.([...(this.#tools.activeGroups?.() ?? []), name]);
        } catch {
          // The agent no longer has this group.
        }
      }
    }
  }
}
