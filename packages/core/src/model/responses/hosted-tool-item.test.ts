import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { userMessage } from '../../message/msg.ts';
import type { HostedTool } from '../../message/provider-metadata.ts';
import type { ModelDelta } from '../chat-model.ts';
import { tool } from '../../tool/tool.ts';
import { openaiResponses } from './openai-responses.ts';

type Item = Readonly<Record<string, unknown>>;

/** Creates a model whose server sends these outputs in turn. Collects the requests. */
function served(...outputs: readonly (readonly Item[])[]) {
  const bodies: Item[] = [];
  const model = openaiResponses({
    model: 'gpt-5.4',
    fetch: async (_, init) => {
      bodies.push(JSON.parse(init.body as string) as Item);
      const output = outputs[bodies.length - 1]!;
      const events = [
        ...output.map((item, index) => ({
          type: 'response.output_item.done',
          output_index: index,
          item,
        })),
        { type: 'response.completed', response: { status: 'completed', output } },
      ];
      return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    },
  });
  return { model, bodies };
}

async function deltasOf(...items: readonly Item[]): Promise<readonly ModelDelta[]> {
  const { signal } = new AbortController();
  const deltas: ModelDelta[] = [];
  const stream = served(items).model.stream(
    { messages: [userMessage('Hi')], tools: [] },
    { signal },
  );
  for await (const batch of stream) deltas.push(...batch);
  return deltas;
}

async function toolsOf(...items: readonly Item[]): Promise<readonly HostedTool[]> {
  const tools = new Map<string, HostedTool>();
  for (const delta of await deltasOf(...items)) {
    const reported = delta.type === 'thinking' && delta.providerMetadata?.['hostedTool'];
    if (reported) tools.set(delta.id, reported as unknown as HostedTool);
  }
  return [...tools.values()];
}

const message: Item = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Done.' }],
};
const clientSearch: Item = {
  type: 'tool_search_call',
  id: 'tsc_1',
  call_id: 'c1',
  execution: 'client',
  arguments: { goal: 'weather' },
  status: 'completed',
};
const serverSearch: Item = { ...clientSearch, call_id: null, execution: 'server' };

test('a search for tools that the client has to run stays unfinished and is not sent back', async () => {
  const [search] = await toolsOf(clientSearch);
  expect(search).toEqual({ id: 'tsc_1', name: 'tool_search', input: { goal: 'weather' } });
  const { model, bodies } = served([clientSearch, message], [message]);
  const agent = new ReActAgent({ name: 'a', model });
  await agent.call('Go');
  await agent.call('Again');
  expect(bodies[1]!['input']).toEqual([
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Again' },
  ]);
});

test('a search for tools that the provider runs is finished and sent back', async () => {
  const [search] = await toolsOf(serverSearch);
  expect(search).toHaveProperty('output', null);
  const { model, bodies } = served([serverSearch, message], [message]);
  const agent = new ReActAgent({ name: 'a', model });
  await agent.call('Go');
  await agent.call('Again');
  expect(bodies[1]!['input']).toContainEqual(expect.objectContaining({ id: 'tsc_1' }));
});

test('the result of a program is the output of its tool', async () => {
  const program = { type: 'program', id: 'p1', call_id: 'c1', code: 'text("1")' };
  const output = { type: 'program_output', id: 'po1', call_id: 'c1', result: '{"units":42}' };
  const [ran] = await toolsOf(program, output);
  expect(ran).toMatchObject({ id: 'p1', name: 'program', output: { units: 42 } });
});

test.for([
  ['webp', 'image/webp'],
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  [undefined, 'image/png'],
] as const)('an image in the format %s has the media type %s', async ([format, mediaType]) => {
  const item = {
    type: 'image_generation_call',
    id: 'ig_1',
    status: 'completed',
    result: 'AA==',
    output_format: format,
  };
  expect(await deltasOf(item)).toContainEqual({ type: 'file', mediaType, data: 'AA==' });
});

test("the results of a program's calls name the program", async () => {
  const caller = { type: 'program', caller_id: 'c1' };
  const program = { type: 'program', id: 'p1', call_id: 'c1', code: 'tools.add()' };
  const call = (id: string, more: Item = {}): Item => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: 'add',
    arguments: '{}',
    ...more,
  });
  const add = tool({
    name: 'add',
    description: 'Adds',
    input: { type: 'object' },
    execute: () => '2',
  });
  const { model, bodies } = served([program, call('c2', { caller }), call('c3')], [message]);
  await new ReActAgent({ name: 'a', model, tools: [add] }).call('Go');
  const input = bodies[1]!['input'] as readonly Item[];
  expect(input.filter(({ type }) => type === 'function_call_output')).toEqual([
    { type: 'function_call_output', call_id: 'c2', output: '2', caller },
    { type: 'function_call_output', call_id: 'c3', output: '2' },
  ]);
});
