import { expect, test } from 'vitest';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { openaiResponses } from './openai-responses.ts';

interface Body {
  readonly input: readonly { readonly type?: string; readonly content?: unknown }[];
}

const refusal = {
  error: {
    message: 'The encrypted content gAAA...CwHs could not be verified.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_encrypted_content',
  },
};

/** A server that cannot decrypt the reasoning of another key. */
class Server {
  readonly bodies: Body[] = [];
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  agent(memory: SessionMemory): ReActAgent {
    const model = openaiResponses({
      model: 'gpt-5.4',
      fetch: async (_url, init) => this.#answer(JSON.parse(String(init.body)) as Body),
    });
    return new ReActAgent({ name: 'a', model, memory });
  }

  #answer(body: Body): Response {
    this.bodies.push(body);
    const reasoning = body.input.filter(({ type }) => type === 'reasoning');
    const isReadable = JSON.stringify(reasoning).match(/"key-\w"/g) ?? [];
    if (isReadable.some((key) => key !== JSON.stringify(this.#key)))
      return Response.json(refusal, { status: 400 });
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: this.#key },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
      },
    ];
    const response = { id: 'r', status: 'completed', output };
    const done = output.map((item, output_index) => ({
      type: 'response.output_item.done',
      output_index,
      item,
    }));
    const events = [...done, { type: 'response.completed', response }];
    return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  }
}

const typesOf = ({ input }: Body) => input.map(({ type = 'message' }) => type);

test('reasoning that the server cannot decrypt is left out, and the session goes on', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const first = new Server('key-a');
  await first.agent(memory).call('One');
  await first.agent(memory).call('Two');
  expect(first.bodies.map(typesOf)).toEqual([
    ['message'],
    ['message', 'reasoning', 'message', 'message'],
  ]);
  const second = new Server('key-b');
  const agent = second.agent(memory);
  expect((await agent.call('Three')).text).toBe('Hi');
  const bare = ['message', 'message', 'message', 'message', 'message'];
  expect(second.bodies.map(typesOf).slice(1)).toEqual([bare]);
  // The server is not asked twice for each request, and gets its own reasoning.
  await agent.call('Four');
  expect(second.bodies.map(typesOf).slice(2)).toEqual([
    [...bare, 'reasoning', 'message', 'message'],
  ]);
});

test('another error of the server is not repeated', async () => {
  const bodies: unknown[] = [];
  const model = openaiResponses({
    model: 'gpt-5.4',
    fetch: async (_url, init) => {
      bodies.push(init.body);
      return Response.json({ error: { ...refusal.error, code: 'bad' } }, { status: 400 });
    },
  });
  const call = new ReActAgent({ name: 'a', model }).call('Hi');
  await expect(call).rejects.toMatchObject({ code: 'MODEL_REQUEST' });
  expect(bodies).toHaveLength(1);
});
