import { expect, test } from 'vitest';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { ReActAgent, textOf } from '@isoloop/core';
import { jsonMode } from '@isoloop/core/output';
import { openai } from '@isoloop/core/openai';
import { retrieval } from '@isoloop/recall';
import { ScriptedModel } from '@isoloop/core/testing';
import { arcReactor } from './arc-reactor.ts';

const retriever = { retrieve: async () => [{ content: 'Tea is hot.', score: 1 }] };
const order =
  /^Base\.\n\nDocuments found [^\n]+\n<retrieved_context>\n[^<]*Tea is hot\.\n<\/retrieved_context>\n\nGive your final answer as JSON alone/;

test('with arcReactor(), base, retrieved context and answer format are one system message, with blank lines between them', async () => {
  const { agent, model } = scriptedAgent(['[]', '[]'], {
    systemPrompt: 'Base.',
    use: [arcReactor(), retrieval({ retriever })],
  });
  await agent.call('Tea?', { output: jsonMode() });
  await agent.call('Tea?', { output: jsonMode() });
  const [first, second] = model.requests.map(({ messages }) => messages);
  expect(first!.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(second!.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  expect(textOf(first![0]!)).toMatch(order);
  expect(textOf(second![0]!)).toBe(textOf(first![0]!));
});

test('the server gets the same system message, and without documents only base and format', async () => {
  const bodies: { readonly messages: readonly { role: string; content: string }[] }[] = [];
  const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
    bodies.push(JSON.parse(String(init?.body)) as (typeof bodies)[number]);
    const choice = { index: 0, delta: { content: '[]' }, finish_reason: 'stop' };
    const text = `data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`;
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  };
  const ask = async (found: typeof retriever): Promise<void> => {
    const agent = new ReActAgent({
      name: 'a',
      model: openai({ model: 'm', apiKey: 'k', fetch: fetch as never }),
      systemPrompt: 'Base.',
      use: [arcReactor(), retrieval({ retriever: found })],
    });
    await agent.call('Tea?', { output: jsonMode() });
  };
  await ask(retriever);
  await ask({ retrieve: async () => [] });
  const [first, second] = bodies.map(({ messages }) => messages);
  expect(first!.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(first![0]!.content).toMatch(order);
  expect(second![0]!.content).toMatch(/^Base\.\n\nGive your final answer as JSON alone/);
});

test('`role` of retrieval() and `retrievalRole` of the agent override the preset', async () => {
  const rolesWith = async (role?: 'user', retrievalRole?: 'user'): Promise<readonly string[]> => {
    const model = new ScriptedModel(['ok']);
    const own = retrieval({ retriever, ...(role && { role }) });
    const options = { name: 'a', model, systemPrompt: 'Base.', use: [arcReactor(), own] };
    await new ReActAgent({ ...options, ...(retrievalRole && { retrievalRole }) }).call('Tea?');
    return model.requests[0]!.messages.map(({ role: each }) => each);
  };
  expect(await rolesWith()).toEqual(['system', 'user']);
  expect(await rolesWith('user')).toEqual(['system', 'user', 'user']);
  expect(await rolesWith(undefined, 'user')).toEqual(['system', 'user', 'user']);
});
