import type { AgentStatus } from '../event/agent-status.ts';
import type { JsonValue } from '../message/json.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';

/** Keeps the active tool groups of one agent and of the log equal. */
export class SyncedGroups {
  readonly #status: AgentStatus;
  readonly #tools: ToolSet;
  /** The log's last known groups, as JSON. */
  #loggedJson: string | undefined;

  constructor(status: AgentStatus, tools: ToolSet) {
    this.#status = status;
    this.#tools = tools;
  }

  /** Returns whether the groups belong to the agent with this status. */
  isOf(status: AgentStatus): boolean {
    return this.#status === status;
  }

  /**
   * Applies new groups from the log, unless the agent has switched groups that the log does not
   * have yet.
   */
  restore(groups: JsonValue | undefined): void {
    if (!Array.isArray(groups) || JSON.stringify(groups) === this.#loggedJson) return;
    const isUnchanged = JSON.stringify(this.#tools.activeGroups?.()) === this.#loggedJson;
    if (this.#loggedJson === undefined || isUnchanged) this.#setGroups(groups);
    this.#loggedJson = JSON.stringify(groups);
  }

  /**
   * Returns the active groups if they differ from the log's groups, and remembers them as the
   * log's.
   */
  changes(): readonly string[] | undefined {
    const groups = this.#tools.activeGroups?.();
    const json = JSON.stringify(groups);
    if (json === this.#loggedJson) return undefined;
    this.#loggedJson = json;
    return groups && [...groups];
  }

  /** Sets the active groups. Leaves out groups that the agent no longer has. */
  #setGroups(groups: readonly JsonValue[]): void {
    const tools = this.#tools;
    tools.setActiveGroups?.([]);
    for (const name of groups.filter((each) => typeof each === 'string')) {
      try {
        tools.setActiveGroups?.([...(tools.activeGroups?.() ?? []), name]);
      } catch {
        // The agent no longer has this group.
      }
    }
  }
}
