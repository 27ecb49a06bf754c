import { expect, onTestFinished, test, vi } from 'vitest';
import { mcpTools } from './mcp-tools.ts';

const failure = vi.hoisted(() => ({ text: '' }));
vi.mock('@modelcontextprotocol/client', () => ({
  get Client(): never {
    throw new TypeError(failure.text);
  },
}));

// https://github.com/vitejs/vite/issues/11804, https://github.com/vitejs/vite/issues/17351
test.each([
  'Failed to fetch dynamically imported module: https://app.test/assets/client-1.js',
  'error loading dynamically imported module: https://app.test/assets/client-1.js',
  'Importing a module script failed.',
])('a page that cannot fetch the SDK gets an error that another try may help: %s', async (text) => {
  failure.text = text;
  const url = 'http://localhost:1';
  await expect(mcpTools({ url })).rejects.toMatchObject({
    code: 'MCP_UNREACHABLE',
    retryable: true,
    message: expect.stringContaining(text),
  });
  // An optional server tries again in the background.
  const onError = vi.fn();
  const tools = await mcpTools({ url, optional: true, onError });
  onTestFinished(() => tools.close());
  expect(onError).toHaveBeenCalledOnce();
});
