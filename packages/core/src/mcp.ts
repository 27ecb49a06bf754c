export { mcpTools } from './tool/mcp-tools.ts';
export type { McpTools } from './tool/mcp-tools.ts';
export type { McpHeaders, McpReconnectOptions, McpToolsOptions } from './tool/mcp-options.ts';
