import {
  AgentError,
  misconfigured,
  invalidInput,
  type AgentErrorCode,
} from '../../error/agent-error.ts';
import { checkFields, checkObject } from '../../error/options/check-fields.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import {
  array,
  boolean,
  iterable,
  oneOf,
  optional,
  string,
  strings,
} from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { JsonObject } from '../../message/json.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import type { ContextEntry } from '../context-token.ts';
import { checkTool, type Tool } from '../tool.ts';
import { duplicateToolError, type ForkOptions, type ToolSet } from './tool-set.ts';

/** A group of tools, and whether it is active now. */
export interface ToolGroup {
  readonly name: string;
  /** Description of the group for the model, which sees it in the description of `metaTool`. */
  readonly description: string;
  readonly active: boolean;
}

/** Name and description of a group of tools, and whether it is active at first. */
export interface ToolGroupOptions {
  readonly name: string;
  readonly description: string;
  /** Whether the group is active at first. Default: true. Source: AgentScope, `createToolGroup`. */
  readonly active?: boolean;
}

/** The groups with which a `Toolkit` begins, and what its tools get from outside. */
export interface ToolkitOptions extends ForkOptions {
  /** Groups to create before the tools are added. */
  readonly groups?: readonly ToolGroupOptions[];
  /** Whether `remove` may remove tools. Default: true. Source: AgentScope, `allowToolDeletion`. */
  readonly allowDeletion?: boolean;
  /**
   * Values for context tokens of the tools. A value for the same token from the agent or the agent
   * call replaces them. Source: AgentScope, `defaultContext`.
   */
  readonly toolContext?: Iterable<ContextEntry>;
}

/**
 * Set of tools whose groups can be switched on and off, and whose presets can be changed. A tool
 * without a group is always active. A tool with groups is active while at least one of its groups
 * is active. An agent copies its toolkit, so make later changes through `agent.tools`.
 */
export class Toolkit<const T extends Tool = Tool> implements ToolSet<T> {
  declare readonly '~types'?: () => T;
  readonly toolContext: readonly ContextEntry[];
  readonly #options: ToolkitOptions;
  readonly #tools: Map<string, Tool> = new Map();
  readonly #groups: Map<string, ToolGroup> = new Map();
  #schemas: readonly ToolSchema[] | undefined;

  /**
   * Throws `CONFIGURATION` for an option of the wrong kind, and if `createGroup` or `add` throws
   * for one of the groups or tools.
   */
  constructor(tools: Iterable<T | Tool> = [], options: ToolkitOptions = {}) {
    checkObject('Toolkit', options);
    checkOptions('Toolkit', { ...options, tools }, toolkitOptions);
    this.#options = options;
    this.toolContext = [...(options.toolContext ?? [])];
    for (const group of options.groups ?? []) this.createGroup(group);
    for (const tool of tools) this.add(tool);
  }

  /**
   * Adds a tool. The model gets the tool with its next request. Throws `CONFIGURATION` if another
   * tool has the name or one of the tool's groups does not exist.
   */
  add(tool: Tool): void {
    checkTool(tool);
    const { name, groups = [] } = tool;
    if (this.#tools.has(name)) throw duplicateToolError(name);
    this.#checkGroups(groups, 'CONFIGURATION');
    const { presetPriority } = this.#options;
    this.#set(tool.fork?.(presetPriority ? { presetPriority } : {}, this) ?? tool);
  }

  /**
   * Removes a tool. Throws `INVALID_INPUT` if no tool has the name. Throws `CONFIGURATION` if the
   * toolkit was created with `allowDeletion: false`.
   */
  remove(name: string): void {
    const { allowDeletion = true } = this.#options;
    this.#get(name);
    if (!allowDeletion)
      throw misconfigured(
        `The tool "${name}" stays: this toolkit does not allow deletion, because of \`allowDeletion: false\`.`,
      );
    this.#tools.delete(name);
    this.#schemas = undefined;
  }

  find(name: string): Tool | string | undefined {
    const tool = this.#tools.get(name);
    if (!tool || this.#isActive(tool)) return tool;
    return `Tool not available: ${name}. None of its groups is active: ${tool.groups!.join(', ')}.`;
  }

  /** Returns the active tools in the order they were added. */
  schemas(): readonly ToolSchema[] {
    return (this.#schemas ??= [...this.#tools.values()]
      .filter((tool) => this.#isActive(tool))
      .map((tool) => tool.schema));
  }

  allTools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /** Creates a group. Throws `CONFIGURATION` if the name is blank or another group has it. */
  createGroup(options: ToolGroupOptions): void {
    checkOptions('A tool group', options, toolGroupOptions);
    const { name, description, active = true } = options;
    if (!name.trim()) throw misconfigured('A tool group needs a name.');
    if (this.#groups.has(name))
      throw misconfigured(`Two tool groups are named "${name}". Give one of them another name.`);
    this.#groups.set(name, { name, description, active });
    this.#schemas = undefined;
  }

  /** Returns all groups in the order they were created. */
  groups(): readonly ToolGroup[] {
    return [...this.#groups.values()];
  }

  activeGroups(): readonly string[] {
    return this.groups().flatMap(({ name, active }) => (active ? [name] : []));
  }

  /**
   * Activates or deactivates these groups. Throws `INVALID_INPUT` for an unknown group, and changes
   * nothing then.
   */
  updateGroups(names: readonly string[], active: boolean): void {
    checkFields('updateGroups()', { active }, { active: boolean }, 'INVALID_INPUT');
    this.#activate(names, (group) => (names.includes(group.name) ? active : group.active));
  }

  setActiveGroups(names: readonly string[]): void {
    this.#activate(names, ({ name }) => names.includes(name));
  }

  /**
   * Adds or replaces preset parameters of a tool; its other preset parameters stay. The change
   * applies to the model's next request and to the next tool call. Throws `INVALID_INPUT` if no
   * tool has the name, and `CONFIGURATION` if the tool lacks one of the parameters. Source:
   * AgentScope, `updateToolPresetParameters`.
   */
  updatePreset(toolName: string, values: JsonObject): void {
    checkObject('updatePreset()', values, 'INVALID_INPUT');
    const tool = this.#get(toolName);
    const preset = { ...tool.preset, ...values };
    const changed = tool.fork?.({ preset }, this);
    if (changed?.preset !== preset)
      throw misconfigured(`The tool "${toolName}" takes no preset arguments.`);
    this.#set(changed);
  }

  fork(options: ForkOptions = {}): Toolkit {
    const { toolContext } = this;
    const forkOptions = { ...this.#options, ...options, groups: this.groups(), toolContext };
    return new Toolkit(this.#tools.values(), forkOptions);
  }

  #get(name: string): Tool {
    const tool = this.#tools.get(name);
    if (!tool)
      throw invalidInput(
        `There is no tool "${name}". There are: ${[...this.#tools.keys()].join(', ') || 'none'}.`,
      );
    return tool;
  }

  #set(tool: Tool): void {
    this.#tools.set(tool.name, tool);
    this.#schemas = undefined;
  }

  #activate(names: readonly string[], isActive: (group: ToolGroup) => boolean): void {
    this.#checkGroups(names);
    for (const group of this.groups())
      this.#groups.set(group.name, { ...group, active: isActive(group) });
    this.#schemas = undefined;
  }

  #isActive({ groups = [] }: Tool): boolean {
    return !groups.length || groups.some((name) => this.#groups.get(name)?.active);
  }

  #checkGroups(names: readonly string[], code: AgentErrorCode = 'INVALID_INPUT'): void {
    checkFields('The tool groups', { names }, { names: strings }, code);
    const unknown = names.find((name) => !this.#groups.has(name));
    if (unknown === undefined) return;
    const groups = [...this.#groups.keys()].join(', ') || 'none';
    throw new AgentError(code, `There is no tool group "${unknown}". There are: ${groups}.`);
  }
}

const toolGroupOptions: OptionTable<ToolGroupOptions> = {
  name: string,
  description: string,
  active: optional(boolean),
};

const toolkitOptions: OptionTable<ToolkitOptions & { readonly tools: Iterable<Tool> }> = {
  tools: iterable,
  groups: optional(array),
  allowDeletion: optional(boolean),
  toolContext: optional(iterable),
  presetPriority: optional(oneOf('preset', 'model')),
};
