import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Memory } from '../../memory/memory.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { openai } from './openai.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { tool } from '../../tool/tool.ts';

type Fields = Readonly<Record<string, unknown>>;
type WireMessage = Fields & { readonly role: string; readonly tool_calls?: readonly Fields[] };

const weather = (needsApproval: boolean) =>
  tool({
    name: 'weather',
    description: '',
    input: z.object({ city: z.string() }),
    needsApproval,
    execute: ({ city }) => `Sun in ${city}`,
  });

const wireCall = { id: 'c1', function: { name: 'weather', arguments: '{"city":"Rome"}' } };

/** A server with the streams of its replies. It keeps the messages of each request. */
class FakeServer {
  readonly requests: (readonly WireMessage[])[] = [];
  readonly #replies: (readonly Fields[])[];
  readonly #baseURL: string;

  constructor(baseURL: string, replies: readonly (readonly Fields[])[]) {
    this.#baseURL = baseURL;
    this.#replies = [...replies];
  }

  agent(memory: Memory, needsApproval = false, modelName = 'm'): ReActAgent {
    const model = openai({
      model: modelName,
      baseURL: this.#baseURL,
      fetch: async (_url, init) => {
        const { messages } = JSON.parse(String(init.body)) as { messages: readonly WireMessage[] };
        this.requests.push(messages);
        return new Response(stream(this.#replies.shift() ?? [{ content: 'Done.' }]));
      },
    });
    return new ReActAgent({ name: 'a', model, memory, tools: [weather(needsApproval)] });
  }

  /** The newest assistant message of the last request. */
  get reply(): WireMessage {
    return this.requests.at(-1)!.findLast(({ role }) => role === 'assistant')!;
  }
}

function stream(deltas: readonly Fields[]): string {
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
  const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  return [...chunks, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}

const claude = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
const signature = { extra_content: { google: { thought_signature: 's' } } };

/** A server's deltas before the finish, and what it must get back on its message and its call. */
interface Quirk {
  readonly baseURL: string;
  readonly deltas: readonly Fields[];
  readonly message: Fields;
  readonly call?: Fields;
}

const quirks: Readonly<Record<string, Quirk>> = {
  OpenRouter: {
    baseURL: 'https://openrouter.ai/api/v1',
    deltas: [
      { reasoning: 'Hm', reasoning_details: [{ ...claude, text: 'Hm' }] },
      { reasoning: '.', reasoning_details: [{ ...claude, text: '.' }] },
      { content: '', reasoning_details: [{ ...claude, signature: 's' }] },
      { tool_calls: [{ index: 0, ...wireCall }] },
    ],
    message: { reasoning_details: [{ ...claude, text: 'Hm.', signature: 's' }] },
  },
  'OpenRouter with encrypted reasoning alone': {
    baseURL: 'https://openrouter.ai/api/v1',
    deltas: [
      { tool_calls: [{ index: 0, ...wireCall }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'A', id: 'c1', index: 0 }] },
    ],
    message: {
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'A', id: 'c1', index: 0 }],
    },
  },
  LiteLLM: {
    baseURL: 'http://litellm.test:4000/v1',
    deltas: [
      {
        reasoning_content: 'Hm.',
        thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: '' }],
      },
      { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 's' }] },
      { thinking_blocks: [{ type: 'redacted_thinking', data: 'X' }] },
      {
        tool_calls: [
          { index: 0, ...wireCall, provider_specific_fields: { thought_signature: 's' } },
        ],
      },
    ],
    message: {
      thinking_blocks: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'redacted_thinking', data: 'X' },
      ],
    },
    call: { provider_specific_fields: { thought_signature: 's' } },
  },
  // https://github.com/earendil-works/pi/pull/1502
  'GitHub Copilot': {
    baseURL: 'https://api.githubcopilot.com',
    deltas: [
      { reasoning_text: 'Hm', content: null },
      { reasoning_text: '.' },
      { reasoning_opaque: 's', tool_calls: [{ index: 0, ...wireCall }] },
    ],
    message: { reasoning_text: 'Hm.', reasoning_opaque: 's' },
  },
  Gemini: {
    baseURL: 'https://generativelanguage.googleapis.com/v1beta/openai',
    deltas: [{ content: 'I look.', ...signature }, { tool_calls: [{ ...wireCall, ...signature }] }],
    message: signature,
    call: signature,
  },
};

const all = Object.entries(quirks).map(([name, quirk]) => ({ name, ...quirk }));

test.each(all)('$name gets its own fields back', async ({ baseURL, deltas, message, call }) => {
  const server = new FakeServer(baseURL, [deltas]);
  await server.agent(new SessionMemory(new MemoryStore(), 's')).call('Weather?');
  expect(server.requests).toHaveLength(2);
  expect(server.reply).toMatchObject({ ...message, tool_calls: [{ id: 'c1', ...call }] });
});

test.each(all)(
  'another server gets no field of $name, which gets all of them later',
  async ({ baseURL, deltas, message, call }) => {
    const memory = new SessionMemory(new MemoryStore(), 's');
    const server = new FakeServer(baseURL, [deltas]);
    await server.agent(memory).call('Weather?');
    const other = new FakeServer('https://other.test/v1', []);
    await other.agent(memory).call('And now?');
    const [, reply] = other.requests[0]!;
    expect(Object.keys(reply!).sort()).toEqual(['content', 'role', 'tool_calls']);
    expect(Object.keys(reply!.tool_calls![0]!).sort()).toEqual(['function', 'id', 'type']);
    await server.agent(memory).call('Back again.');
    expect(server.requests[2]![1]).toMatchObject({ ...message, tool_calls: [{ ...call }] });
  },
);

test('two servers in one session get each only their own fields', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const [first, second] = [quirks['OpenRouter']!, quirks['Gemini']!];
  const servers = [first, second].map(({ baseURL, deltas }) => new FakeServer(baseURL, [deltas]));
  for (const server of [...servers, ...servers]) await server.agent(memory).call('Weather?');
  const [openRouter, gemini] = servers.map(({ requests }) => JSON.stringify(requests.at(-1)));
  expect(openRouter).toContain('reasoning_details');
  expect(openRouter).not.toContain('extra_content');
  expect(gemini).toContain('extra_content');
  expect(gemini).not.toContain('reasoning_details');
});

// Behind a gateway, Gemini answers 400 to the signatures of Claude, and Claude to those of Gemini.
test.each([
  ['anthropic/claude-sonnet-5', 'google/gemini-3-pro', 'anthropic/claude-opus-5'],
  ['openai/o4-mini', 'deepseek/deepseek-v4', 'openai/o4-mini-high'],
])('the fields of %s go back on the same host, but not to %s', async (first, other, relative) => {
  const { baseURL, deltas, message } = quirks['OpenRouter']!;
  const memory = new SessionMemory(new MemoryStore(), 's');
  const server = new FakeServer(baseURL, [deltas]);
  const ask = (model: string) => server.agent(memory, false, model).call('Weather?');
  await ask(first);
  expect(server.reply).toMatchObject(message);
  await ask(other);
  expect(JSON.stringify(server.requests.at(-1))).not.toContain('reasoning_details');
  await ask(relative);
  expect(server.requests.at(-1)![1]).toMatchObject(message);
});

test.each(all)(
  'after a restart and an edit of the call, $name gets its fields with the new arguments',
  async ({ baseURL, deltas, message, call }) => {
    const store = new MemoryStore();
    const server = new FakeServer(baseURL, [deltas]);
    await server.agent(new SessionMemory(store, 's'), true).call('Weather?');
    const edit = { toolUseId: 'c1', type: 'edit', input: { city: 'Oslo' } } as const;
    await server.agent(new SessionMemory(store, 's'), true).call([edit]);
    expect(server.reply).toMatchObject({
      ...message,
      tool_calls: [{ ...call, function: { arguments: '{"city":"Oslo"}' } }],
    });
  },
);

test('MiniMax gets back the text that it sent, with its tags', async () => {
  const content = '<think>\nI ask.\n</think>\n\nI look.';
  const deltas = [...content].map((c) => ({ content: c }));
  const server = new FakeServer('https://api.minimax.io/v1', [
    [...deltas, { tool_calls: [wireCall] }],
  ]);
  const agent = server.agent(new SessionMemory(new MemoryStore(), 's'));
  await agent.call('Weather?');
  expect(server.reply).toMatchObject({ content });
  const [, reply] = await agent.messages();
  expect(reply!.content).toMatchObject([
    { type: 'thinking', thinking: 'I ask.\n' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use' },
  ]);
});

test('reasoning details without another field are shown as thinking, and go back once', async () => {
  const part = { type: 'reasoning.text', format: 'MiniMax-response-v1', index: 0 };
  const pieces = ['I ', 'ask.'].map((text) => ({ reasoning_details: [{ ...part, text }] }));
  const server = new FakeServer('https://api.minimax.io/v1', [
    [...pieces, { content: 'I look.' }, { tool_calls: [wireCall] }],
  ]);
  const agent = server.agent(new SessionMemory(new MemoryStore(), 's'));
  await agent.call('Weather?');
  const [, reply] = await agent.messages();
  expect(reply!.content[0]).toMatchObject({ type: 'thinking', thinking: 'I ask.' });
  expect(server.reply).toMatchObject({
    content: 'I look.',
    reasoning_details: [{ ...part, text: 'I ask.' }],
  });
});

test('a stored field that no server sends is not sent', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const server = new FakeServer('https://a.test/v1', [[{ content: 'Hi' }]]);
  const fields = { role: 'system', content: 'Obey.', extra_content: { a: 'b' } };
  const providerMetadata = { chatCompletions: { origin: 'a.test', fields } };
  await memory.append([
    {
      id: 'm1',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi', providerMetadata }],
      createdAt: new Date(0).toISOString(),
    },
  ]);
  await server.agent(memory).call('Hi');
  expect(server.requests[0]![0]).toEqual({
    role: 'assistant',
    content: 'Hi',
    extra_content: { a: 'b' },
  });
});
