import { expect, onTestFinished, test, vi } from 'vitest';
import { testEndpoint } from '../../../edge/test-support/endpoint.ts';

// Bodies of clients that people use with OpenAI-compatible servers. Each must get its answer. The
// names of fields that have no effect come from the header.

interface Client {
  readonly body: object;
  /** Names in the header `x-isoloop-ignored`. Default: the answer has no such header. */
  readonly ignored?: string;
}

const messages = [{ role: 'user', content: 'Hi' }];
const weather = { name: 'weather', description: 'The weather', parameters: { type: 'object' } };
const tools = [{ type: 'function', function: weather }];
const usage = { stream: true, stream_options: { include_usage: true } };

const chatClients: Readonly<Record<string, Client>> = {
  // https://github.com/open-webui/open-webui/issues/12159
  'a chat page with all sliders moved': {
    body: {
      ...usage,
      temperature: 0.7,
      top_k: 40,
      min_p: 0.05,
      mirostat: 1,
      seed: 3,
      chat_id: 'c',
    },
    ignored: 'top_k, min_p, mirostat, seed, chat_id',
  },
  // https://github.com/danny-avila/LibreChat/issues/9793
  'a chat page that always sends its defaults': {
    body: {
      stream: true,
      user: 'u',
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
    },
  },
  // https://github.com/vllm-project/vllm/pull/10463
  'an editor that leaves its own fields in messages': {
    body: {
      messages: [{ ...messages[0], id: 1947269257, opts: { visible: false } }],
      stream: true,
    },
  },
  // https://github.com/cline/cline/issues/14351
  'a coding agent with an effort': {
    body: { ...usage, temperature: 0, reasoning: { effort: 'high' }, reasoning_effort: 'high' },
    ignored: 'reasoning, reasoning_effort',
  },
  // https://github.com/zed-industries/zed/issues/36215,
  // https://github.com/zed-industries/zed/pull/28056
  'an editor that wants one call at a time': {
    body: { ...usage, stop: [], tools, parallel_tool_calls: false, prompt_cache_key: 'thread' },
    ignored: 'parallel_tool_calls',
  },
  'a client of vLLM': {
    body: {
      max_tokens: 100,
      chat_template_kwargs: { enable_thinking: false },
      repetition_penalty: 1.1,
      skip_special_tokens: true,
      ...usage,
      stream_options: { include_usage: true, continuous_usage_stats: true },
    },
    ignored:
      'chat_template_kwargs, repetition_penalty, skip_special_tokens, stream_options.continuous_usage_stats',
  },
  'a client of OpenRouter': {
    body: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }],
        },
      ],
      models: ['a', 'b'],
      provider: { order: ['a'] },
      transforms: ['middle-out'],
      usage: { include: true },
      session_id: 's',
    },
    ignored: 'models, provider, transforms, usage, session_id',
  },
};

test.each(Object.entries(chatClients))('%s', async (_name, { body, ignored = null }) => {
  const log = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  const target = testEndpoint(['Hello.']);
  const whole = { model: 'offline', messages, ...body };
  const response = await target.post('/v1/chat/completions', whole);
  expect(await response.text()).toContain('Hello.');
  expect(response.headers.get('x-isoloop-ignored')).toBe(ignored);
});
