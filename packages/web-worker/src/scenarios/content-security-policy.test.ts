/// <reference path="../../../../test/mcp-server/provided-context.d.ts" />
import { expect, inject, onTestFinished, test } from 'vitest';
import { readStored } from '../../test-support/stored.ts';

/**
 * Runs the body of an async function in a page whose policy has no `unsafe-eval`. Returns the
 * function's result.
 */
async function runWithPolicy(module: string): Promise<unknown> {
  const frame = document.createElement('iframe');
  frame.srcdoc = `<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'unsafe-inline'">
    <script type="module">
      // The test runner rewrites dynamic imports, so this page needs the function that they call.
      globalThis.__vitest_browser_runner__ = { wrapDynamicImport: (load) => load() };
      const post = (answer) => parent.postMessage(answer, '*');
      try { post(await (async () => { ${module} })()); } catch (error) { post(String(error) + String(error.cause ?? "")); }
    </script>`;
  const answer = new Promise<unknown>((resolve) => {
    addEventListener(
      'message',
      ({ data, source }) => source === frame.contentWindow && resolve(data),
    );
  });
  document.body.append(frame);
  try {
    return await answer;
  } finally {
    frame.remove();
  }
}

const packages = '../../../';
const source = (name: string): string =>
  JSON.stringify(new URL(packages + name, import.meta.url).href);

test('the Content Security Policy of these tests forbids eval', async () => {
  expect(await runWithPolicy(`return new Function('return 1')();`)).toContain('EvalError');
});

test('plain JSON Schema validates input under a policy without unsafe-eval', async () => {
  const told = await runWithPolicy(`
    const { jsonSchema } = await import(${source('core/src/schema/index.ts')});
    const { issues } = await jsonSchema({ properties: { a: { pattern: '^x' } } })['~standard'].validate({ a: 'y' });
    return issues[0].message;`);
  expect(told).toBe('must match ^x');
});

test('the tools of an MCP server work under a policy without unsafe-eval', async () => {
  const url = `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp`;
  const told = await runWithPolicy(`
    const { mcpTools } = await import(${source('mcp/src/index.ts')});
    const tools = await mcpTools({ url: ${JSON.stringify(url)} });
    const { signal } = new AbortController();
    return tools.find('add').execute({ a: 1, b: 2 }, { signal, emit() {} });`);
  expect(told).toBe('3');
});

test('page and worker run under worker-src and script-src self, and store nothing on their own', async () => {
  const before = await readStored();
  const frame = document.createElement('iframe');
  const answer = new Promise<unknown>((resolve) => {
    addEventListener(
      'message',
      (event: MessageEvent) => event.source === frame.contentWindow && resolve(event.data),
    );
  });
  frame.src = '/csp-page?csp';
  document.body.append(frame);
  onTestFinished(() => frame.remove());
  expect(await answer).toEqual({
    outputs: [
      'no eval',
      expect.stringContaining('do not fit its schema'),
      expect.stringContaining('do not fit its schema'),
      'page 1',
    ],
    blocked: 'WORKER_FAILED',
  });
  expect(await readStored()).toEqual(before);
});
