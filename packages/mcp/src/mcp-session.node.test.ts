import { expect, test, vi } from 'vitest';
import { mcpTools } from './mcp-tools.ts';

vi.mock('@modelcontextprotocol/client', () => {
  throw new Error('Cannot find package');
});

test('mcpTools() names the install command in its error if the SDK is missing, even for an optional server', async () => {
  await expect(mcpTools({ url: 'http://localhost:1', optional: true })).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: 'mcpTools() needs a package: npm install @modelcontextprotocol/client.',
  });
});
