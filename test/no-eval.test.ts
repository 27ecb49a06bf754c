/// <reference path="./mcp-server/provided-context.d.ts" />
import { expect, inject, test } from 'vitest';
import { runCommand } from '../scripts/run-command.ts';

test('plain JSON Schema and the tools of an MCP server work where code cannot be made from text', async () => {
  const url = `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp`;
  const { ok, output } = await runCommand('node', ['--disallow-code-generation-from-strings', 'test/no-eval-tools.ts', url]);
  expect(ok, output).toBe(true);
});
