import { createUiMessageEncoder, toUiMessages, type UiChunk } from '@isoloop/core/stream';
import { validateUIMessages, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { ReActAgent, tool, type ToolContext } from '@isoloop/core';
import { keepDataParts } from '@isoloop/core/results';
import type { DataPart } from '@isoloop/core/message';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { chunksOf, readChunks } from '@test/support/ui-chunks.ts';

const png = { type: 'base64', mediaType: 'image/png', data: 'iVBORw==' } as const;
const pngUrl = 'data:image/png;base64,iVBORw==';

/** Tool `act` whose calls run the given functions, one after the other. */
function acting(...steps: ((context: ToolContext) => object | string | void)[]) {
  return tool({
    name: 'act',
    description: 'Acts',
    input: { type: 'object' },
    execute: (_, context) => steps.shift()!(context) ?? 'done',
  });
}

const call: ScriptedReply = { toolCalls: [{ name: 'act', id: 'c1', input: {} }] };

function agentOf(replies: readonly ScriptedReply[], act = acting(), use = [keepDataParts()]) {
  return new ReActAgent({ name: 'a', model: new ScriptedModel(replies), tools: [act], use });
}

/** Returns the stored answer as a client sees it after a reload, checked by AI SDK. */
async function reloaded(agent: ReActAgent): Promise<UIMessage> {
  const messages = await validateUIMessages({
    messages: JSON.parse(JSON.stringify(toUiMessages(await agent.messages()))) as UIMessage[],
  });
  return messages.at(-1)!;
}

const partsOf = ({ parts }: UIMessage, kind: string) =>
  parts.filter(({ type }) => type.startsWith(kind));

test('a picture that the model makes is a file, live and after a reload', async () => {
  const deltas = [
    [
      { type: 'text', id: 't', delta: 'Here:' },
      { type: 'file', mediaType: png.mediaType, data: png.data },
      { type: 'finish', reason: 'stop' },
    ],
  ] as const;
  const agent = agentOf([{ deltas }]);
  const file = { type: 'file', mediaType: 'image/png', url: pngUrl };
  expect(partsOf(await readChunks(await chunksOf(agent.stream('go'))), 'file')).toEqual([file]);
  expect(partsOf(await reloaded(agent), 'file')).toEqual([file]);
});

test('media in the output of a tool are files, live and after a reload', async () => {
  const agent = agentOf(
    [call, 'See above.'],
    acting(() => ({
      content: [
        { type: 'text', text: 'Two:' },
        { type: 'image', source: png },
        { type: 'file', source: { type: 'url', url: 'https://x.test/a.pdf' }, name: 'a.pdf' },
      ],
    })),
  );
  const live = await readChunks(await chunksOf(agent.stream('go')));
  const files = [
    { type: 'file', mediaType: 'image/png', url: pngUrl },
    { type: 'file', mediaType: 'application/octet-stream', url: 'https://x.test/a.pdf' },
  ];
  expect(partsOf(live, 'file')).toEqual(files);
  expect(partsOf(await reloaded(agent), 'file')).toMatchObject(files);
  expect(live.parts.map(({ type }) => type)).toEqual(
    (await reloaded(agent)).parts.map(({ type }) => type),
  );
});

test('data parts of tools are the same live and after a reload, in order', async () => {
  const chart = { points: [1, 2] };
  const agent = agentOf(
    [
      {
        toolCalls: [
          { name: 'act', id: 'c1' },
          { name: 'act', id: 'c2' },
        ],
      },
      'Drawn.',
    ],
    acting(
      ({ emit }) => {
        emit({ type: 'data-chart', data: chart } satisfies DataPart<'chart'>);
        chart.points = [];
        emit({ type: 'data-status', id: 's', data: 'working' });
        emit({ type: 'data-chart', data: null });
        emit({ type: 'data-status', id: 's', data: 'ready' });
      },
      ({ emit }) => emit({ type: 'data-status', id: 's', data: 'over' }),
    ),
  );
  const live = await readChunks(await chunksOf(agent.stream('go')));
  expect(partsOf(live, 'data-')).toEqual([
    { type: 'data-chart', id: 'c1:0', data: { points: [1, 2] } },
    { type: 'data-status', id: 's', data: 'over' },
    { type: 'data-chart', id: 'c1:2', data: null },
  ]);
  expect(partsOf(await reloaded(agent), 'data-')).toEqual(partsOf(live, 'data-'));
  expect(partsOf(live, 'dynamic-tool')).toMatchObject([{ output: 'done' }, { output: 'done' }]);
});

test('a transient data part is shown but not part of the message, live or after a reload', async () => {
  const agent = agentOf(
    [call, 'ok'],
    acting(({ emit }) => emit({ type: 'data-progress', data: 0.5, transient: true })),
  );
  const chunks = await chunksOf(agent.stream('go'));
  expect(chunks.filter(({ type }) => type === 'data-progress')).toEqual([
    { type: 'data-progress', data: 0.5, transient: true },
  ]);
  expect(partsOf(await readChunks(chunks), 'data-')).toEqual([]);
  expect(JSON.stringify(await agent.messages())).not.toContain('data-progress');
});

test('without keepDataParts(), a data part is part of the message until a reload', async () => {
  const agent = agentOf(
    [call, 'ok'],
    acting(({ emit }) => emit({ type: 'data-chart', data: 1 })),
    [],
  );
  expect(partsOf(await readChunks(await chunksOf(agent.stream('go'))), 'data-')).toEqual([
    { type: 'data-chart', data: 1 },
  ]);
  expect(partsOf(await reloaded(agent), 'data-')).toEqual([]);
});

test('the data parts of a call that fails are kept too', async () => {
  const agent = agentOf(
    [call, 'ok'],
    acting(({ emit }) => {
      emit({ type: 'data-chart', id: 'x', data: 1 });
      throw new Error('Broke.');
    }),
  );
  await agent.call('go');
  expect((await reloaded(agent)).parts).toMatchObject([
    { type: 'step-start' },
    { state: 'output-error', errorText: 'Error: Broke.' },
    { type: 'data-chart', id: 'x', data: 1 },
    { type: 'step-start' },
    { type: 'text' },
  ]);
});

test.for([
  { type: 'data-', data: 1 },
  { type: 'data-chart' },
  { type: 'data-chart', data: 1, id: 7 },
  { type: 'data-chart', data: 1, transient: 'yes' },
  { type: 'chart', data: 1 },
])('%j is progress and not a data part', async (value) => {
  const agent = agentOf(
    [call, 'ok'],
    acting(({ emit }) => emit(value)),
  );
  const chunks = await chunksOf(agent.stream('go'));
  expect(chunks.filter((chunk) => 'preliminary' in chunk)).toMatchObject([{ output: value }]);
  expect(partsOf(await reloaded(agent), 'data-')).toEqual([]);
});

test('the model does not see data parts', async () => {
  const model = new ScriptedModel([call, 'ok']);
  const act = acting(({ emit }) => emit({ type: 'data-secret', data: 'SECRET' }));
  const agent = new ReActAgent({ name: 'a', model, tools: [act], use: [keepDataParts()] });
  await agent.call('go');
  const shown = model.requests
    .at(-1)!
    .messages.flatMap(({ content }) =>
      content.map((block) => ({ ...block, providerMetadata: undefined })),
    );
  expect(JSON.stringify(shown)).not.toContain('SECRET');
});

test('a resumed stream shows kept data parts whose events it does not have', async () => {
  const act = acting(({ emit }) => emit({ type: 'data-chart', id: 'x', data: 1 }));
  const agent = agentOf([call, 'ok'], act);
  const encoder = createUiMessageEncoder();
  const chunks: UiChunk[] = [];
  for await (const batch of agent.stream('go').batches())
    chunks.push(...encoder.encode(batch.filter(({ type }) => type !== 'acting-chunk')));
  expect(partsOf(await readChunks(chunks), 'data-')).toEqual([
    { type: 'data-chart', id: 'x', data: 1 },
  ]);
});

test('a call that a hook refuses is denied, with the reason, live and after a reload', async () => {
  const agent = agentOf([call, 'Then not.'], acting(), [
    { on: { 'pre-acting': (event) => event.reject('Too dear.') } },
  ]);
  const denied = {
    type: 'dynamic-tool',
    toolName: 'act',
    toolCallId: 'c1',
    state: 'output-denied',
    input: {},
    approval: { id: 'c1', approved: false, reason: 'Too dear.' },
  };
  expect(partsOf(await readChunks(await chunksOf(agent.stream('go'))), 'dynamic-tool')).toEqual([
    expect.objectContaining(denied),
  ]);
  expect(partsOf(await reloaded(agent), 'dynamic-tool')).toEqual([denied]);
});

test('a call that a person denies is denied in the message that asked', async () => {
  const act = tool({
    name: 'act',
    description: 'Acts',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'done',
  });
  const agent = agentOf([call, 'Then not.'], act);
  const asked = await readChunks(await chunksOf(agent.stream('go')));
  expect(partsOf(asked, 'dynamic-tool')).toMatchObject([{ state: 'approval-requested' }]);
  const decision = { toolUseId: 'c1', type: 'reject', reason: 'No.' } as const;
  const answered = await readChunks(await chunksOf(agent.stream([decision])), asked);
  const denied = { state: 'output-denied', approval: { id: 'c1', approved: false, reason: 'No.' } };
  expect(partsOf(answered, 'dynamic-tool')).toMatchObject([denied]);
  expect(partsOf(await reloaded(agent), 'dynamic-tool')).toMatchObject([denied]);
});

test('the metadata have the usage of all replies, live and after a reload', async () => {
  const agent = agentOf(
    [call, 'ok'],
    acting(() => 'done'),
  );
  const { metadata } = await readChunks(await chunksOf(agent.stream('go')));
  const usage = { inputTokens: 20, outputTokens: 10 };
  expect(metadata).toMatchObject({ usage });
  expect((await reloaded(agent)).metadata).toEqual({ usage });
});
