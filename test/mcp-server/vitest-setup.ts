/// <reference path="./provided-context.d.ts" />
import type { TestProject } from 'vitest/node';
import { startMcpServer } from './mcp-server.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, close } = await startMcpServer();
  project.provide('mcpUrl', url);
  return close;
}
