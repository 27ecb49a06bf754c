import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import type { Msg } from '../../message/msg.ts';
import { openaiResponses } from './openai-responses.ts';

interface Body {
  readonly previous_response_id?: string;
  readonly input: readonly { readonly content: string }[];
}

/** Server that answers with `resp_1`, `resp_2`, and so on. */
class Server {
  readonly bodies: Body[] = [];
  /** Whether the next reply breaks in the middle. */
  breaks = false;
  readonly model = openaiResponses({
    model: 'gpt-5.4',
    previousResponse: true,
    fetch: async (_, init) => {
      const number = this.bodies.push(JSON.parse(init.body as string) as Body);
      const delta = { type: 'response.output_text.delta', delta: `Reply ${number}.` };
      const response = { id: `resp_${number}`, status: 'completed' };
      const end = { type: 'response.completed', response };
      const events = this.breaks ? [delta] : [delta, end];
      this.breaks = false;
      return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    },
  });

  get last(): readonly [id: string | undefined, inputs: readonly string[]] {
    const { previous_response_id: id, input } = this.bodies.at(-1)!;
    return [id, input.map(({ content }) => content)];
  }
}

const memories = {
  'memory in RAM': () => new InMemoryMemory(),
  'a stored session': () => new SessionMemory(new MemoryStore(), 's'),
};

async function twoTurns(server: Server, memory: InMemoryMemory | SessionMemory) {
  const agent = new ReActAgent({ name: 'a', model: server.model, memory });
  await agent.call('One');
  await agent.call('Two');
  expect(server.last).toEqual(['resp_1', ['Two']]);
  return { agent, messages: await memory.read() };
}

const ids = (messages: readonly Msg[]): readonly string[] => messages.map(({ id }) => id);

for (const [name, create] of Object.entries(memories)) {
  test(`${name}: after a cut of the last turn, the whole conversation is sent`, async () => {
    const server = new Server();
    const memory = create();
    const { agent, messages } = await twoTurns(server, memory);
    await memory.delete(ids(messages.slice(2)));
    await agent.call('Three');
    expect(server.last).toEqual([undefined, ['One', 'Reply 1.', 'Three']]);
    await agent.call('Four');
    expect(server.last).toEqual(['resp_3', ['Four']]);
  });

  test(`${name}: after a cut of the last reply, the whole conversation is sent`, async () => {
    const server = new Server();
    const memory = create();
    const { agent, messages } = await twoTurns(server, memory);
    await memory.delete(ids(messages.slice(3)));
    await agent.call();
    expect(server.last).toEqual([undefined, ['One', 'Reply 1.', 'Two']]);
  });

  test(`${name}: after a replacement, the whole conversation is sent`, async () => {
    const server = new Server();
    const memory = create();
    const { agent, messages } = await twoTurns(server, memory);
    await memory.replace({ ...messages[2]!, content: [{ type: 'text', text: 'Zwei' }] });
    await agent.call('Three');
    expect(server.last).toEqual([undefined, ['One', 'Reply 1.', 'Zwei', 'Reply 2.', 'Three']]);
  });
}

test('a request whose reply broke is sent again with the same response id', async () => {
  const server = new Server();
  const agent = new ReActAgent({ name: 'a', model: server.model });
  await agent.call('One');
  server.breaks = true;
  await agent.call('Two', { throwOnError: false });
  const { last } = server;
  expect(last).toEqual(['resp_1', ['Two']]);
  await agent.call();
  expect(server.last[0]).toBe('resp_1');
});
