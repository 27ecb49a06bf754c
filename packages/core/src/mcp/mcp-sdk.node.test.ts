import { expect, test, vi } from 'vitest';
import { mcpTools } from './mcp-tools.ts';

vi.mock('@modelcontextprotocol/sdk/client/index.js', () => {
  throw new Error('Cannot find package');
});

test('a missing SDK is told with the command that installs it, also where the server is optional', async () => {
  await expect(mcpTools({ url: 'http://localhost:1', optional: true })).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message:
      'mcpTools() needs the package @modelcontextprotocol/sdk, which could not be loaded: npm install @modelcontextprotocol/sdk.',
  });
});
