export { mcpTools, type McpTools } from './mcp/mcp-tools.ts';
export type { McpHeaders, McpReconnectOptions, McpToolsOptions } from './mcp/mcp-options.ts';
export type { McpQuestion, McpQuestions } from './mcp/mcp-question.ts';
