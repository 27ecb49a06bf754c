import { expect, test } from 'vitest';
import { eventLine } from '../../docs/site/live/event-lines.ts';
import { programText } from '../../docs/site/live/live-program.ts';
import { stripTypes } from '../../docs/site/live/strip-types.ts';
import { textOfValue } from '../../docs/site/live/text-of-value.ts';
import { fileOfModule, workerText } from '../../docs/site/live/worker-text.ts';
import { programsIn, readLivePrograms } from '../../scripts/docs/live/read-programs.ts';

const imports = `import { expect, test, vi } from 'vitest';
import { helper } from './helper.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region a
import { ReActAgent } from '@isoloop/core';
// #endregion
import { tool } from '@isoloop/core';

const unused = helper();
const twice = (n: number) => n * 2;
`;

test('a live example is the region of a test, and its setup is what the test does before', () => {
  const source = `${imports}
test('it works', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const model = new ScriptedModel([String(twice(1))]);
  let tools = [tool({ name: 't' })];

  // #region a
  const agent = new ReActAgent({ name: 'a', model, tools });
  // #endregion

  expect(log).not.toHaveBeenCalled();
  // #region b
  await agent.call('Hi');
  // #endregion
  expect(model.requests).toHaveLength(1);
});
`;
  const [a, b] = programsIn('a.test.ts', source);
  expect(a).toEqual({
    name: 'a',
    code: "import { ReActAgent } from '@isoloop/core';\n\nconst agent = new ReActAgent({ name: 'a', model, tools });\n",
    setup:
      "const twice = (n: number) => n * 2;\nconst model = new ScriptedModel([String(twice(1))]);\nlet tools = [tool({ name: 't' })];",
    imports: [
      { local: 'ScriptedModel', imported: 'ScriptedModel', module: '@isoloop/core/testing' },
      { local: 'ReActAgent', imported: 'ReActAgent', module: '@isoloop/core' },
      { local: 'tool', imported: 'tool', module: '@isoloop/core' },
    ],
  });
  expect(b?.setup).toContain('const agent = new ReActAgent');
  expect(b?.setup).not.toContain('expect');
  expect(programText(a!).match(/import/g)).toHaveLength(3);
});

test.for([
  ['a helper for a server', 'const value = helper();\n'],
  ['a name of the test framework', 'const value = vi.fn();\n'],
])('an example that needs %s is not live', ([, line]) => {
  const source = `${imports}
test('it works', async () => {
  ${line}
  // #region a
  await new ReActAgent({ name: 'a' }).call(value);
  // #endregion
});
`;
  expect(programsIn('a.test.ts', source)).toEqual([]);
});

test('most examples of the docs are live', () => {
  const names = readLivePrograms().map(({ name }) => name);
  expect(names.length).toBeGreaterThan(100);
  expect(new Set(names).size).toBe(names.length);
});

test('the worker of an example has no types, and imports the libraries by address', () => {
  const text = workerText(
    {
      imports: [],
      setup: '',
      code: 'import { tool, type Tool } from \'@isoloop/core\';\nimport * as z from "zod";\nexport const a: Tool = tool(z);\nexport function name() {\n  return "a name";\n}\nexport * from "zod";\n',
    },
    'http://x/lib/',
    stripTypes,
  );
  expect(text).toMatch(/^import 'http:\/\/x\/lib\/start-worker\.js';\n/);
  expect(text).toContain("from 'http://x/lib/isoloop-core.js'");
  expect(text).toContain('as z from "http://x/lib/zod.js"');
  expect(text).toContain('export * from "http://x/lib/zod.js"');
  expect(text).toContain('return "a name"');
  expect(text).not.toContain('Tool');
  expect(fileOfModule('@isoloop/core/agent')).toBe('isoloop-core-agent.js');
  expect(() => fileOfModule('node:fs')).toThrow('and not node:fs');
});

test('the output shows printed values and events in short', () => {
  expect(
    [new RangeError('far'), new Map([[1, { a: [2] }]]), undefined, 'text'].map(textOfValue),
  ).toEqual(['RangeError: far', 'Map [ [ 1, { "a": [ 2 ] } ] ]', 'undefined', 'text']);
  const base = { runId: 'r', sessionId: 's', seq: 1, iteration: 1, agentPath: ['a'], at: 0 };
  expect(
    eventLine({ ...base, type: 'reasoning-chunk', kind: 'text', blockId: 'b', delta: 'Hi' }),
  ).toEqual({ label: 'reasoning-chunk', text: 'Hi', more: true });
  expect(eventLine({ ...base, type: 'pre-call', input: [] })).toBeUndefined();
  expect(
    eventLine({ ...base, agentPath: ['a', 'child'], type: 'step-reset', reason: 'retry' })?.label,
  ).toBe('child: step-reset');
  const toolUse = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
  const result = {
    type: 'tool_result',
    toolUseId: 'c',
    name: 'pay',
    output: '',
    state: 'success',
  } as const;
  expect(eventLine({ ...base, type: 'post-acting', toolUse, result })?.text).toBe('pay: success');
});
