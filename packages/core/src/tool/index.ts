export { contextToken, provide, providedValue } from './context-token.ts';
export type { ContextEntry, ContextToken } from './context-token.ts';
export { joinTools } from './set/join-tools.ts';
export { metaTool } from './set/meta-tool.ts';
export type { MetaToolOptions } from './set/meta-tool.ts';
export { allowTools } from './set/tool-set.ts';
export type { ForkOptions, ToolSet } from './set/tool-set.ts';
export { Toolkit } from './set/toolkit.ts';
export type { ToolGroup, ToolGroupOptions, ToolkitOptions } from './set/toolkit.ts';
export { deniedResult, errorResult, hasResult, notStarted, withExecute } from './tool-call.ts';
export type { ToolCall, ToolOutcome } from './tool-call.ts';
export { tool } from './tool.ts';
export type {
  ReplayPolicy,
  Tool,
  ToolContent,
  ToolContext,
  ToolOptions,
  ToolOutput,
  ToolSource,
  TypedTool,
} from './tool.ts';
export type { ExecuteWrapper } from './tool-call.ts';
