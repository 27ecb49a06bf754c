import { expect, test } from 'vitest';
import { modelRequestLimit } from './model-request-limit.ts';
import { toolCallLimit } from './tool-call-limit.ts';

test.for([
  {},
  { run: -1 },
  { run: 'two' },
  { session: 1, atLimit: 'stop' },
  { run: 1, message: 2 },
  undefined,
])('modelRequestLimit() and toolCallLimit() reject the options %j', (options) => {
  const code = expect.objectContaining({ code: 'CONFIGURATION' }) as Error;
  expect(() => modelRequestLimit(options as never)).toThrow(code);
  expect(() => toolCallLimit(options as never)).toThrow(code);
  expect(() => toolCallLimit({ run: 1, tool: 3 as never })).toThrow(code);
  expect(() => toolCallLimit({ run: 1 })).toThrow('limits.toolCalls');
});
