/**
 * Events that add nothing to a reply: the finished item repeats their content, or they only report
 * progress.
 */
const ignoredEvents = [
  'response.audio.delta',
  'response.audio.done',
  'response.audio.transcript.delta',
  'response.audio.transcript.done',
  'response.code_interpreter_call_code.delta',
  'response.code_interpreter_call_code.done',
  'response.compaction.compacting',
  'response.content_part.added',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
  'response.mcp_call_arguments.delta',
  'response.mcp_call_arguments.done',
  'response.reasoning_summary_part.added',
  'response.apply_patch_call_operation_diff.delta',
  'response.apply_patch_call_operation_diff.done',
  'keepalive',
] as const;

export type IgnoredEvent = (typeof ignoredEvents)[number];

const ignored: ReadonlySet<string> = new Set(ignoredEvents);

/** Progress of built-in tools: `response.web_search_call.searching`, `response.mcp_call.failed`. */
const progress = /^response\.(\w+_call(_command|_output_content)?|mcp_list_tools)\.\w+$/;

export function isIgnored(type: string | null | undefined): boolean {
  return !!type && (ignored.has(type) || progress.test(type));
}
