import assert from 'node:assert/strict';
import { jsonSchema } from '@isoloop/core/schema';
import { mcpTools } from '@isoloop/mcp';
import { toSchema } from '../../packages/core/src/schema/schema.ts';

// no-eval.test.ts runs this script in plain Node without eval. Its argument is the URL of an MCP
// server.

assert.throws(() => new Function('return 1'), EvalError);

const definition = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/b' } },
  $defs: { b: { pattern: '^x' } },
};
const pattern = toSchema(jsonSchema(definition));
assert.partialDeepStrictEqual(await pattern.validate({ a: 'y' }), {
  ok: false,
  issues: ['a: must match ^x'],
});

const tools = await mcpTools({ url: process.argv[2]!, schema: jsonSchema });
const add = tools.find('add');
assert(typeof add === 'object');
assert.partialDeepStrictEqual(await add.input.validate({ a: 1 }), {
  ok: false,
  issues: ['b: is required'],
});
const { signal } = new AbortController();
assert.equal(await add.execute!({ a: 1, b: 2 }, { signal, emit: () => {} } as never), '3');
await tools.close();
