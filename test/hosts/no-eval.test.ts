/// <reference path="../mcp-server/provided-context.d.ts" />
import { expect, inject, test } from 'vitest';
import { runCommand } from '../../scripts/run-command.ts';

test('JSON Schema validation and MCP tools work without eval', async () => {
  const url = `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp`;
  const { ok, output } = await runCommand('node', [
    '--disallow-code-generation-from-strings',
    'test/hosts/no-eval-tools.ts',
    url,
  ]);
  expect(ok, output).toBe(true);
});
