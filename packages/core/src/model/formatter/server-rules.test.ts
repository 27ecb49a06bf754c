import { expect, test } from 'vitest';
import {
  assistantMessage,
  toolMessage,
  toolUsesOf,
  userMessage,
  type ContentBlock,
} from '../../message/msg.ts';
import { openai, type OpenAiOptions } from '../openai/openai.ts';
import { answeringFetch } from '../../testing/answering-fetch.ts';
import { serverRulesOf } from './server-rules.ts';

test.each([
  ['api.deepseek.com', 'deepseek-v4-pro', { sendThinking: true }],
  ['api.moonshot.cn', 'kimi-k2.5', { sendThinking: true }],
  ['api.moonshot.ai', 'moonshot-v1-8k', {}],
  ['api.xiaomimimo.com', 'mimo-v2.5-pro', { sendThinking: true }],
  ['api.minimax.io', 'MiniMax-M2.1', { sendThinking: true, splitsThinking: true }],
  ['api.minimaxi.com', 'MiniMax-M2.1', { sendThinking: true, splitsThinking: true }],
  ['api.groq.com', 'qwen/qwen3-32b', { splitsThinking: true }],
  ['api.groq.com', 'llama-3.3-70b-versatile', {}],
  ['api.cerebras.ai', 'qwen-3-32b', { splitsThinking: true }],
  [
    'us-central1-aiplatform.googleapis.com',
    'deepseek-ai/deepseek-r1-0528-maas',
    { splitsThinking: true },
  ],
  ['api.openai.com', 'gpt-5', {}],
  ['deepseek.com.example', 'm', {}],
  ['notdeepseek.com', 'm', {}],
  ['localhost:11434', 'qwen3', {}],
  ['/llm/v1/chat/completions', 'm', {}],
])('the server %s with the model %s has the rules %j', (host, model, rules) => {
  const { sendThinking, splitsThinking } = serverRulesOf(host, model);
  expect({
    ...(sendThinking && { sendThinking }),
    ...(splitsThinking && { splitsThinking }),
  }).toEqual(rules);
});

const thinking: ContentBlock = { type: 'thinking', thinking: 'Hm.' };
const call: ContentBlock = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
const result = {
  type: 'tool_result',
  toolUseId: 'c1',
  name: 'f',
  output: 'done',
  state: 'success',
} as const;
const text: ContentBlock = { type: 'text', text: 'Hi' };

/** Returns the assistant message that the model sends for a reply with these blocks. */
async function sent(
  options: OpenAiOptions,
  ...content: readonly ContentBlock[]
): Promise<Readonly<Record<string, unknown>>> {
  const answer = { choices: [{ message: { content: '' }, finish_reason: 'stop' }] };
  const { fetch, bodies } = answeringFetch([JSON.stringify(answer)]);
  const model = openai({ ...options, fetch });
  const { signal } = new AbortController();
  const reply = assistantMessage(content);
  const messages = [userMessage('Hi'), reply, ...toolUsesOf(reply).map(() => toolMessage(result))];
  for await (const _batch of model.stream({ messages, tools: [] }, { signal }));
  const { messages: sentMessages } = JSON.parse(bodies[0]!) as {
    readonly messages: readonly Readonly<Record<string, unknown>>[];
  };
  return sentMessages[1]!;
}

const deepseek = { model: 'deepseek-v4-pro', baseURL: 'https://api.deepseek.com/v1' };

test('DeepSeek gets the thinking of each reply, and a space in place of missing thinking', async () => {
  expect(await sent(deepseek, thinking, call)).toMatchObject({ reasoning_content: 'Hm.' });
  const signed: ContentBlock = { type: 'thinking', thinking: '', signature: 'foreign' };
  for (const content of [[call], [{ ...thinking, thinking: '' }, call], [signed, call], [text]])
    expect(await sent(deepseek, ...content)).toMatchObject({ reasoning_content: ' ' });
  expect(await sent({ ...deepseek, sendThinking: false }, thinking, call)).not.toHaveProperty(
    'reasoning_content',
  );
});

test('MiniMax gets thinking back within the text, as it came', async () => {
  const minimax = { model: 'MiniMax-M2.1', baseURL: 'https://api.minimax.io/v1' };
  const tagged = '<think>\nHm.</think>\n\n';
  expect(await sent(minimax, thinking, text)).toEqual({
    role: 'assistant',
    content: `${tagged}Hi`,
  });
  expect(await sent(minimax, thinking, call)).toMatchObject({ content: tagged });
  expect(await sent(minimax, call)).toMatchObject({ content: null });
});

test('a server that is asked for no thinking gets none, although its thinking is split', async () => {
  const groq = { model: 'qwen/qwen3-32b', baseURL: 'https://api.groq.com/openai/v1' };
  expect(await sent(groq, thinking, text)).toEqual({ role: 'assistant', content: 'Hi' });
});
