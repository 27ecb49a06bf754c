import { expect, test } from 'vitest';
import * as z from 'zod';
import { mcpTools } from '@isoloop/mcp';
import { handOff } from '@isoloop/core/several';
import { retry, toolRetry } from '@isoloop/core/resilience';
import { openai } from '@isoloop/core/openai';
import { openaiResponses } from '@isoloop/core/responses';
import { ReActAgent, tool } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { Agent } from '@isoloop/core/agent';
import {
  kernelCallOptions,
  kernelLimits,
  kernelOptions,
} from '../../../packages/core/src/agent/check-agent-options.ts';
import {
  otherAgentNames,
  otherCallNames,
  otherLimitNames,
  otherSettingNames,
} from '../../../packages/core/src/agent/other-names.ts';
import { generateOptions } from '../../../packages/core/src/model/chat-model.ts';

const model = new ScriptedModel([]);
const agentWith = (options: object) => new ReActAgent({ name: 'a', model, ...options });
const toolWith = (options: object) =>
  tool({ name: 'a', description: 'A', input: z.object({}), ...options });
const calledWith = (options: object) => agentWith({}).call('Hi', options);

test.each<[option: string, make: (options: object) => unknown, advice: string]>([
  ['instructions', agentWith, 'systemPrompt'],
  ['system', agentWith, 'systemPrompt'],
  ['prompt', agentWith, 'systemPrompt'],
  ['maxSteps', agentWith, 'limits.iterations'],
  ['maxTurns', agentWith, 'limits.iterations'],
  ['stopWhen', agentWith, 'limits.iterations'],
  ['maxToolCalls', agentWith, 'limits.toolCalls'],
  ['middleware', agentWith, 'use'],
  ['checkpointer', agentWith, 'memory'],
  ['temperature', agentWith, 'generate'],
  ['outputType', agentWith, 'call(input, { output })'],
  ['handoffs', agentWith, 'use: [handOff({ to })]'],
  ['system', (options) => new Agent({ name: 'a', model, ...options }), 'systemPrompt'],
  ['maxSteps', (limits) => agentWith({ limits }), 'iterations'],
  [
    'toolCalls',
    (limits) => new Agent({ name: 'a', model, limits }),
    'new ReActAgent({ limits: { toolCalls } })',
  ],
  ['maxOutputTokens', (generate) => agentWith({ generate }), 'maxTokens'],
  ['abortSignal', calledWith, 'signal'],
  ['responseFormat', calledWith, 'output: structured(schema)'],
  ['parameters', toolWith, 'input'],
  ['inputSchema', toolWith, 'input'],
  ['func', toolWith, 'execute'],
  ['handler', toolWith, 'execute'],
  ['run', toolWith, 'execute'],
  ['baseUrl', (options) => openai({ model: 'm', ...options }), 'baseURL'],
  ['api_key', (options) => openaiResponses({ model: 'm', ...options }), 'apiKey'],
  ['temperature', (options) => openai({ model: 'm', ...options }), 'new ReActAgent({ generate })'],
  ['maxRetries', (options) => retry(options), 'attempts'],
  ['retries', (options) => toolRetry(options), 'attempts'],
  ['serverUrl', (options) => mcpTools({ url: 'https://mcp.test', ...options }), 'url'],
  ['agents', (options) => handOff({ to: [], ...options }), 'to'],
])('the error about the option %s of other libraries (%o) says what to use', async (...row) => {
  const [option, make, advice] = row;
  const settled = async (): Promise<unknown> => make({ [option]: 1 });
  const error: unknown = await settled().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(` has no option \`${option}\`. It has: `);
  expect(String(error)).toMatch(/\. Use `[^`]+`\.$/);
  expect(String(error).split(' Use ').at(-1)).toBe(`\`${advice}\`.`);
});

test('tool() says that `schema` is not the option for the arguments', () => {
  const make = () =>
    tool({ name: 'a', description: 'A', schema: z.object({}), execute: () => 1 } as never);
  expect(make).toThrow('tool(): `schema` is not the option for the arguments. Use `input`.');
});

test('tool() copies a finished tool with its `schema`', () => {
  const add = toolWith({ execute: () => 'x' });
  expect(tool({ ...add, description: 'B' } as never).schema.description).toBe('B');
});

test.each<[list: string, names: object, table: object]>([
  ['an agent', otherAgentNames, kernelOptions],
  ['limits', otherLimitNames, kernelLimits],
  ['a model request', otherSettingNames, generateOptions],
  ['an agent call', otherCallNames, kernelCallOptions],
])(
  'the names of other libraries for options of %s are no options, and each has one advice',
  (...row) => {
    const [, names, table] = row;
    const list = (Object.values(names) as readonly (readonly string[])[]).flat();
    expect(list.filter((name) => Object.hasOwn(table, name))).toEqual([]);
    expect(list.filter((name, index) => list.indexOf(name) !== index)).toEqual([]);
  },
);
