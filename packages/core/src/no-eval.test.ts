/// <reference path="../../../test/mcp-server/provided-context.d.ts" />
import { afterEach, expect, inject, test, vi } from 'vitest';
import { jsonSchema } from './json-schema.ts';
import { mcpTools } from './mcp.ts';
import { toSchema } from './schema/to-schema.ts';

afterEach(() => void vi.unstubAllGlobals());

function forbidEval(): void {
  const forbidden = (): never => {
    throw new EvalError('Code generation from strings disallowed for this context');
  };
  vi.stubGlobal('eval', forbidden);
  vi.stubGlobal('Function', new Proxy(Function, { construct: forbidden, apply: forbidden }));
}

test('plain JSON Schema is checked where code cannot be made from text', async () => {
  forbidEval();
  const pattern = toSchema(jsonSchema({ type: 'object', properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { pattern: '^x' } } }));
  expect(await pattern.validate({ a: 'y' })).toEqual({ ok: false, issues: ['a: must match ^x'] });
});

test('the tools of an MCP server work where code cannot be made from text', async () => {
  forbidEval();
  const tools = await mcpTools({ url: `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp`, schema: jsonSchema });
  const add = tools.find('add');
  if (typeof add !== 'object') throw new Error('There is no tool');
  expect(await add.input.validate({ a: 1 })).toEqual({ ok: false, issues: ['b: is required'] });
  const signal = new AbortController().signal;
  expect(await add.execute!({ a: 1, b: 2 }, { signal, emit: () => {} } as never)).toBe('3');
  await tools.close();
});
