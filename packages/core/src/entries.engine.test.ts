/// <reference path="../../../test/provider-server/provided-context.d.ts" />
/// <reference path="../../../test/mcp-server/provided-context.d.ts" />
import { ReActAgent, tool, type Extension } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import { dashscope } from '@isoloop/core/dashscope';
import { inputGuards, inputLength } from '@isoloop/core/guards';
import { jsonSchema } from '@isoloop/core/json-schema';
import { mcpTools } from '@isoloop/core/mcp';
import { keywordRetriever } from '@isoloop/core/memory-search';
import { modelCallLimit } from '@isoloop/core/middleware';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { openai } from '@isoloop/core/openai';
import { arcReactor } from '@isoloop/core/presets';
import { ScriptedModel } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { context, trace } from '@opentelemetry/api';
import { expect, inject, test } from 'vitest';
import { exports } from '../package.json';

const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  input: jsonSchema({ type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } }),
  execute: (input) => {
    const { a, b } = input as { readonly a: number; readonly b: number };
    return a + b;
  },
});

/** Answers with a tool by a scripted model, and an extension of the entry. */
async function answerWith(...extensions: readonly Extension[]): Promise<string> {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'add', input: { a: 2, b: 3 } }] }, 'It is 5.']);
  const agent = new ReActAgent({ name: 'a', model, tools: [add], extensions });
  return (await agent.call('What is 2 + 3?')).text;
}

/** Each public entry at work once; other tests import the sources behind it. */
const smoke: Readonly<Record<string, () => Promise<void>>> = {
  '.': async () => expect(await answerWith()).toBe('It is 5.'),
  './openai': async () => {
    const model = openai({ model: 'scripted', apiKey: 'k', baseURL: `${inject('providerUrl')}/v1` });
    const agent = new ReActAgent({ name: 'a', model, tools: [add] });
    expect((await agent.call('What is 1 + 2?')).reason).toBe('stop');
  },
  './dashscope': async () => {
    const body = JSON.stringify({
      output: { choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }] },
    });
    const headers = { 'content-type': 'text/event-stream' };
    const fetch = async (): Promise<Response> => new Response(`data: ${body}\n\n`, { headers });
    const agent = new ReActAgent({ name: 'a', model: dashscope({ model: 'qwen-max', apiKey: 'k', fetch }) });
    expect((await agent.call('Hi')).text).toBe('Hello');
  },
  './ai-sdk': async () => {
    const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
    const encoder = createUiMessageEncoder();
    const types: string[] = [];
    for await (const batch of agent.stream('Hi').batches()) types.push(...encoder.encode(batch).map(({ type }) => type));
    expect(types).toContain('text-delta');
  },
  './text-protocol': async () => {
    const model = new ScriptedModel(['{"tool_name": "add", "arguments": {"a": 2, "b": 3}}', 'It is 5.']);
    const agent = new ReActAgent({ name: 'a', model, tools: [add], extensions: [textToolCalls()] });
    expect(await agent.call('What is 2 + 3?')).toMatchObject({ text: 'It is 5.', toolsUsed: ['add'] });
  },
  './middleware': async () => expect(await answerWith(modelCallLimit({ run: 5 }))).toBe('It is 5.'),
  './presets': async () => {
    const model = new ScriptedModel(['Hello']);
    expect((await new ReActAgent({ name: 'a', model, ...arcReactor() }).call('Hi')).text).toBe('Hello');
  },
  './guards': async () => expect(await answerWith(inputGuards([inputLength({ max: 100 })]))).toBe('It is 5.'),
  './memory-search': async () => {
    const retriever = keywordRetriever([{ id: 'tea', content: 'Green tea is steamed.' }]);
    const found = await retriever.retrieve('steamed tea', { topK: 1, signal: new AbortController().signal } as never);
    expect(found.map(({ id }) => id)).toEqual(['tea']);
  },
  './open-telemetry': async () => expect(await answerWith(openTelemetry({ api: { trace, context } }))).toBe('It is 5.'),
  './json-schema': async () => {
    const result = await jsonSchema({ type: 'number' })['~standard'].validate('x');
    expect(result.issues).toHaveLength(1);
  },
  './mcp': async () => {
    const tools = await mcpTools({ url: `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp` });
    expect(tools.find('add')).toBeDefined();
    await tools.close();
  },
  './testing': async () => expect(new ScriptedModel(['x']).requests).toEqual([]),
};

test.for(Object.keys(exports).filter((entry) => entry !== './package.json'))('entry %s', async (entry) => {
  await smoke[entry]!();
});
