import { misconfigured, fieldsOf } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { optional, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { JsonObject } from '../../message/json.ts';
import { objectInput, type Validation } from '../../schema/schema.ts';
import { tool, type Tool } from '../tool.ts';
import type { ToolSet } from './tool-set.ts';
import type { ToolGroup, Toolkit } from './toolkit.ts';

/** Name of the tool that `metaTool()` returns. */
export interface MetaToolOptions {
  /** Name of the tool. Default: `switch_tool_groups`. */
  readonly name?: string;
}

interface MetaInput {
  readonly groups: readonly string[];
  readonly exactly?: boolean;
}

/**
 * Returns a tool with which the model switches the tool groups of its `Toolkit`. The tool activates
 * the groups that the model names. With `exactly: true` it also deactivates all other groups. The
 * tool's result lists the active groups. Their tools are in the model's next request. A fork of the
 * toolkit gets a tool of its own. Adding this tool to any other set of tools throws
 * `CONFIGURATION`. Source: AgentScope, `reset_equipped_tools`.
 */
export function metaTool(options: MetaToolOptions = {}): Tool {
  checkOptions('metaTool()', options, metaToolOptions);
  return metaToolOf(options.name ?? 'switch_tool_groups', undefined);
}

const metaToolOptions: OptionTable<MetaToolOptions> = { name: optional(string) };

function metaToolOf(name: string, toolkit: Toolkit | undefined): Tool {
  const groups = (): readonly ToolGroup[] => toolkit?.groups() ?? [];
  // Checks the name: `tool()` throws if providers would refuse the name.
  tool({ name, description: '', input: {} });
  return {
    name,
    replay: 'safe',
    alwaysOffered: true,
    // Each access builds the schema anew, because groups can change.
    get schema() {
      return { name, description: describe(groups()), parameters: parametersFor(groups()) };
    },
    input: {
      get jsonSchema() {
        return parametersFor(groups());
      },
      validate: (value) => validate(value, groups()),
    },
    execute(input) {
      const { groups: names, exactly } = input as MetaInput;
      if (exactly) toolkit?.setActiveGroups(names);
      else toolkit?.updateGroups(names, true);
      return report(groups());
    },
    fork: (_changes, set) => metaToolOf(name, toToolkit(set)),
  };
}

function toToolkit(set: ToolSet): Toolkit {
  if ('updateGroups' in set) return set as Toolkit;
  throw misconfigured('The meta tool works only in a Toolkit. Add it to a Toolkit.');
}

/**
 * Returns the tool's description. The text does not say which groups are active, so it stays the
 * same when groups are switched.
 */
function describe(groups: readonly ToolGroup[]): string {
  return `Switches groups of tools on. Groups:\n${groups.map(toLine).join('\n') || 'none'}`;
}

function report(groups: readonly ToolGroup[]): string {
  const active = groups.filter((group) => group.active).map(toLine);
  return active.length ? `Active groups:\n${active.join('\n')}` : 'No group is active.';
}

function toLine({ name, description }: ToolGroup): string {
  return `- ${name}: ${description}`;
}

function parametersFor(groups: readonly ToolGroup[]): JsonObject {
  const names = groups.map(({ name }) => name);
  // JSON Schema does not allow an empty enum.
  const items = { type: 'string', ...(names.length && { enum: names }) };
  const groupNames = { type: 'array', items, description: 'The groups to switch on.' };
  const description = 'Whether to switch all other groups off. Default: false.';
  return objectInput({ groups: groupNames, exactly: { type: 'boolean', description } }, ['groups']);
}

function validate(value: unknown, toolGroups: readonly ToolGroup[]): Validation<MetaInput> {
  const { groups, exactly } = fieldsOf(value);
  if (!Array.isArray(groups)) return { ok: false, issues: ['groups: an array of group names'] };
  if (exactly !== undefined && exactly !== null && typeof exactly !== 'boolean')
    return { ok: false, issues: ['exactly: true or false'] };
  const names = toolGroups.map(({ name }) => name);
  const unknownNames = groups.filter((name) => !names.includes(name));
  if (!unknownNames.length) return { ok: true, value: { groups, exactly: exactly ?? false } };
  const list = names.join(', ') || 'none';
  return {
    ok: false,
    issues: unknownNames.map(
      (name) => `groups: there is no group ${JSON.stringify(name)}; there are: ${list}`,
    ),
  };
}
