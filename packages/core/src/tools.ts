export { agentTool } from './middleware/agent-tool/agent-tool.ts';
export type {
  AgentToolOptions,
  ChildAgent,
  ChildFactory,
  ChildSession,
} from './middleware/agent-tool/agent-tool.ts';
export type { Schema, Validation, StandardSchema } from './schema/schema.ts';
export { byCategory, type ToolCategory } from './middleware/selection/by-category.ts';
export { byModel, type ByModelOptions } from './middleware/selection/by-model.ts';
export { bySimilarity } from './middleware/selection/by-similarity.ts';
export type {
  BySimilarityOptions,
  Embed,
  Embedding,
} from './middleware/selection/by-similarity.ts';
export { byWords, type ByWordsOptions } from './middleware/selection/by-words.ts';
export { selectTools } from './middleware/selection/select-tools.ts';
export type { SelectToolsOptions, ToolSelector } from './middleware/selection/select-tools.ts';
export { toolSearch, type ToolSearchOptions } from './middleware/selection/tool-search.ts';
export { contextToken, provide } from './tool/context-token.ts';
export type { ContextEntry, ContextToken } from './tool/context-token.ts';
export { joinTools } from './tool/set/join-tools.ts';
export { metaTool, type MetaToolOptions } from './tool/set/meta-tool.ts';
export type { ForkOptions } from './tool/set/tool-set.ts';
export type { ToolChanges } from './tool/tool.ts';
export { Toolkit } from './tool/set/toolkit.ts';
export type { ToolGroup, ToolGroupOptions, ToolkitOptions } from './tool/set/toolkit.ts';
