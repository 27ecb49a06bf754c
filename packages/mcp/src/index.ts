export type { McpHeaders, McpReconnectOptions, McpToolsOptions } from './mcp-options.ts';
export type { McpQuestion, McpQuestions } from './mcp-question.ts';
export { mcpTools } from './mcp-tools.ts';
export type { McpTools } from './mcp-tools.ts';
