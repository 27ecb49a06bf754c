import { expect, test } from 'vitest';
import { redirectFetch } from './redirect-fetch.ts';
// #region openai
import { assistantMessage, ReActAgent, userMessage } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
// #endregion
// #region responses
import { openaiResponses } from '@isoloop/core/responses';
// #endregion
// #region dashscope
import { dashscope } from '@isoloop/core/dashscope';
// #endregion
// #region ai-sdk
import { createOpenAI } from '@ai-sdk/openai';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
// #endregion
// #region multi-agent
import { multiAgent } from '@isoloop/core/model';
// #endregion

const apiKey = 'sk-test';
const scripted = (body: object): Readonly<Record<string, unknown>> => ({
  ...body,
  script: ['9.9 is.'],
});
const scriptedParameters = (
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => ({
  ...body,
  parameters: scripted(body['parameters'] as object),
});

test('openai() calls any OpenAI-compatible server', async () => {
  const sent = redirectFetch('http://127.0.0.1:11434/v1', '/scripted/v1', scripted);

  // #region openai
  const model = openai({
    model: 'qwen3',
    baseURL: 'http://127.0.0.1:11434/v1', // default: OpenAI's; this is Ollama
    apiKey: async () => apiKey, // a string, or a function that runs before each request
    features: { media: ['image'] }, // media it accepts; others become a text such as [audio: call.wav]
    timeoutMs: 60_000, // longest time without content (comments do not count); default 5 minutes
  });
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    generate: { temperature: 0, maxTokens: 500 },
  });
  const { text } = await agent.call('Which is larger, 9.9 or 9.11?', {
    seed: 7,
    providerOptions: { top_k: 20 }, // copied into the request body
  });
  // #endregion

  expect(text).toBe('9.9 is.');
  const settings = { temperature: 0, max_tokens: 500, seed: 7, top_k: 20 };
  expect(sent[0]?.body).toMatchObject({ model: 'qwen3', ...settings });
  expect(sent[0]?.headers.get('authorization')).toBe('Bearer sk-test');
  await agent.call(
    userMessage([
      {
        type: 'audio',
        source: { type: 'base64', mediaType: 'audio/wav', data: 'QUJD' },
        name: 'call.wav',
      },
    ]),
  );
  expect(JSON.stringify(sent[1]?.body)).toContain('[audio: call.wav]');
});

test('openaiResponses() calls the Responses API', async () => {
  const sent = redirectFetch('https://api.openai.com/v1', '/scripted/v1', scripted);

  // #region responses
  const gpt = openaiResponses({
    model: 'gpt-5.4',
    apiKey,
    reasoning: { effort: 'low', summary: 'auto' }, // the summary comes as thinking
    builtInTools: [{ type: 'web_search' }], // tools that OpenAI runs
  });
  const researcher = new ReActAgent({ name: 'researcher', model: gpt });
  const { text: answer } = await researcher.call('Which is larger, 9.9 or 9.11?');
  // #endregion

  expect(answer).toBe('9.9 is.');
  expect(sent[0]?.url).toBe('https://api.openai.com/v1/responses');
  expect(sent[0]?.body).toMatchObject({
    store: false,
    include: ['reasoning.encrypted_content'],
    tools: [{ type: 'web_search' }],
  });
});

test('dashscope() streams a model’s thinking', async () => {
  const sent = redirectFetch(
    'https://dashscope.aliyuncs.com/api/v1',
    '/dashscope/scripted/api/v1',
    scriptedParameters,
  );

  // #region dashscope
  const qwen = dashscope({ model: 'qwen-plus', apiKey, thinkingBudget: 2000 });
  let thoughts = '';
  const thinker = new ReActAgent({ name: 'thinker', model: qwen });
  for await (const event of thinker.stream('Which is larger, 9.9 or 9.11?')) {
    if (event.type === 'reasoning-chunk' && event.kind === 'thinking') thoughts += event.delta;
  }
  // #endregion

  expect(thoughts).toBe('Let me think.');
  expect(sent[0]?.url).toContain('/services/aigc/text-generation/generation');
  expect(sent[0]?.body['parameters']).toMatchObject({
    enable_thinking: true,
    thinking_budget: 2000,
    incremental_output: true,
  });
});

test('openai() calls DashScope’s compatible mode', async () => {
  const sent = redirectFetch(
    'https://dashscope.aliyuncs.com/compatible-mode/v1',
    '/scripted/v1',
    scripted,
  );

  // #region compatible-mode
  const compatible = openai({
    model: 'qwen3-max',
    baseURL: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    apiKey,
  });
  const compatibleAgent = new ReActAgent({
    name: 'assistant',
    model: compatible,
    generate: { providerOptions: { enable_thinking: true, thinking_budget: 2000 } },
  });
  // #endregion

  expect((await compatibleAgent.call('Which?')).text).toBe('9.9 is.');
  expect(sent[0]?.body).toMatchObject({
    model: 'qwen3-max',
    enable_thinking: true,
    thinking_budget: 2000,
  });
});

test('fromAiSdk() wraps an AI SDK model', async () => {
  const sent = redirectFetch('https://api.openai.com/v1', '/scripted/v1', scripted);

  // #region ai-sdk
  const aiSdkModel = fromAiSdk(createOpenAI({ apiKey }).chat('gpt-5-mini'));
  const aiSdkAgent = new ReActAgent({ name: 'assistant', model: aiSdkModel });
  // #endregion

  expect((await aiSdkAgent.call('Which?')).text).toBe('9.9 is.');
  expect(sent[0]?.body['model']).toBe('gpt-5-mini');
});

test('multiAgent() shows a conversation of several agents in one message', async () => {
  const sent = redirectFetch('https://api.openai.com/v1', '/scripted/v1', scripted);

  // #region multi-agent
  const cal = new ReActAgent({
    name: 'Cal',
    model: multiAgent(openaiResponses({ model: 'gpt-5-mini', apiKey })),
  });
  await cal.observe([
    userMessage('Is it warm in Paris?', { name: 'Ann' }),
    assistantMessage('20 degrees.', { name: 'Bob' }),
  ]);
  await cal.call(userMessage('What should I wear?', { name: 'Ann' }));
  // #endregion

  const said = 'Ann: Is it warm in Paris?\nBob: 20 degrees.\nAnn: What should I wear?';
  const header =
    'The conversation so far is between the history tags. An indented line continues the message above it.';
  const content = `${header}\n<history>\n${said}\n</history>`;
  expect(sent[0]?.body['input']).toEqual([{ role: 'user', content }]);
  expect((await cal.messages()).map(({ name }) => name)).toEqual(['Ann', 'Bob', 'Ann', 'Cal']);

  const { message } = await cal.call('And shoes?');
  await cal.observe([{ ...message, id: 'dan', name: 'Dan' }]);
  await cal.call('Thanks.');
  expect(JSON.stringify(sent.at(-1)?.body)).toContain('Dan: 9.9 is.');
});
