import { misconfigured } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { toolSource } from './tool-source-kind.ts';
import { toolList, duplicateToolError, joinedTools, type ToolSet } from './tool-set.ts';
import type { ToolSource, ToolsOf } from '../tool.ts';

/**
 * Joins several sources of tools in the given order. A source is an array of tools, a `Toolkit` or
 * the tools of MCP servers. If a source later adds a tool whose name an earlier source has, the
 * earlier source's tool is used. A server therefore cannot replace your own tool. Throws
 * `CONFIGURATION` if two tools have the same name from the start, or if more than one source has
 * tool groups.
 */
export function joinTools<const S extends readonly ToolSource[]>(
  ...sources: S
): ToolSet<ToolsOf<S[number]>> {
  for (const source of sources) checkFields('joinTools()', { source }, { source: toolSource });
  const sets = sources.map((source) => (Symbol.iterator in source ? toolList(source) : source));
  const names = new Set<string>();
  for (const { name } of sets.flatMap((set) => set.schemas())) {
    if (names.has(name)) throw duplicateToolError(name);
    names.add(name);
  }
  if (sets.filter((set) => set.activeGroups).length > 1)
    throw misconfigured(
      'Only one source of tools can have groups. Put the tools with groups into one Toolkit.',
    );
  return sets.reduceRight((rest, set) => joinedTools(set, rest), toolList([])) as ToolSet<
    ToolsOf<S[number]>
  >;
}
