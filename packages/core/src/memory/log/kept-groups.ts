import type { AgentStatus } from '../../event/agent-status.ts';
import type { JsonValue } from '../../message/json.ts';
import type { ToolSet } from '../../tool/tool-set.ts';

/** The active tool groups of one agent, as the log keeps them. */
export class KeptGroups {
  readonly #status: AgentStatus;
  readonly #tools: ToolSet;
  /** The log's last known groups, as JSON. */
  #known: string | undefined;

  constructor(status: AgentStatus, tools: ToolSet) {
    this.#status = status;
    this.#tools = tools;
  }

  /** Returns whether the groups belong to the agent with this status. */
  isOf(status: AgentStatus): boolean {
    return this.#status === status;
  }

  /** Applies what is new in the log. Groups stay if they were switched after the first call. */
  restore(groups: JsonValue | undefined): void {
    if (!Array.isArray(groups) || JSON.stringify(groups) === this.#known) return;
    const isUnchanged = JSON.stringify(this.#tools.activeGroups?.()) === this.#known;
    if (this.#known === undefined || isUnchanged) this.#setGroups(groups);
    this.#known = JSON.stringify(groups);
  }

  /** Returns the groups to note if they changed, and counts them as noted. */
  changes(): readonly string[] | undefined {
    const groups = this.#tools.activeGroups?.();
    const text = JSON.stringify(groups);
    if (text === this.#known) return undefined;
    this.#known = text;
    return groups && [...groups];
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
