import { expect, test } from 'vitest';
import type { ChatModel, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { userMessage } from '../message/msg.ts';
import { ScriptedModel } from './scripted-model.ts';

const request: ModelRequest = { messages: [userMessage('hi')], tools: [] };

async function ask(
  model: ChatModel,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly (readonly ModelDelta[])[]> {
  const batches: (readonly ModelDelta[])[] = [];
  for await (const deltas of model.stream(request, { signal })) batches.push(deltas);
  return batches;
}

test('ScriptedModel emits its parts in order: thinking, text word by word, tool calls, the end', async () => {
  const model = new ScriptedModel([
    {
      thinking: 'Hm.',
      text: 'I add.',
      toolCalls: [{ name: 'add', input: { a: 1 } }, { name: 'add' }],
    },
  ]);
  expect(await ask(model)).toEqual([
    [{ type: 'thinking', id: 'thinking', delta: 'Hm.' }],
    [{ type: 'text', id: 'text', delta: 'I ' }],
    [{ type: 'text', id: 'text', delta: 'add.' }],
    [
      { type: 'tool-input', index: 0, id: 'call_1', name: 'add', delta: '{"a":1}' },
      { type: 'tool-input', index: 1, id: 'call_2', name: 'add', delta: '{}' },
    ],
    [{ type: 'finish', reason: 'tool_calls', usage: { inputTokens: 10, outputTokens: 5 } }],
  ]);
  expect(model.requests).toEqual([request]);
  expect(model.reads).toBe(4);
});

test('an array of steps is one reply', async () => {
  const usage = { inputTokens: 1, outputTokens: 2 };
  const model = new ScriptedModel([
    [
      { text: 'One' },
      { toolCalls: [{ name: 'a' }], usage },
      { toolCalls: [{ name: 'b', input: '{"bad' }] },
    ],
    (asked) => [{ text: `${asked.messages.length} message` }],
  ]);
  const deltas = (await ask(model)).flat();
  expect(
    deltas.map((delta) =>
      delta.type === 'tool-input' ? [delta.index, delta.name, delta.delta] : delta.type,
    ),
  ).toEqual(['text', [0, 'a', '{}'], [1, 'b', '{"bad'], 'finish']);
  expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls', usage });
  expect((await ask(model)).flat().map((delta) => 'delta' in delta && delta.delta)).toEqual([
    '1 ',
    'message',
    false,
  ]);
});

test('a step with `wait` waits for its promise before it emits anything', async () => {
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const model = new ScriptedModel([[{ text: 'now' }, { wait: gate, text: ' later' }]]);
  const reader = model.stream(request, { signal: new AbortController().signal });
  expect((await reader.next()).value).toEqual([{ type: 'text', id: 'text', delta: 'now' }]);
  const second = reader.next();
  let said = false;
  void second.then(() => (said = true));
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(said).toBe(false);
  open();
  expect((await second).value).toMatchObject([{ type: 'text', delta: ' ' }]);
});

test('an abort ends a wait and a reply that hangs', async () => {
  for (const reply of [{ wait: new Promise(() => {}) }, { hang: true }]) {
    const controller = new AbortController();
    const asked = ask(new ScriptedModel([reply]), controller.signal);
    controller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
  }
  const signals: AbortSignal[] = [];
  const wait = (signal: AbortSignal): Promise<void> => {
    signals.push(signal);
    return Promise.resolve();
  };
  const { signal } = new AbortController();
  await ask(new ScriptedModel([{ wait, text: 'ok' }]), signal);
  expect(signals).toEqual([signal]);
});

test('an error comes after the content of its step', async () => {
  const model = new ScriptedModel([{ text: 'half', error: new Error('broken') }]);
  const reader = model.stream(request, { signal: new AbortController().signal });
  expect((await reader.next()).value).toMatchObject([{ delta: 'half' }]);
  await expect(reader.next()).rejects.toThrow('broken');
});

test('assertDone() requires each reply to be used once', async () => {
  const model = new ScriptedModel(['one', 'two', 'three']);
  await ask(model);
  expect(() => model.assertDone()).toThrow('Replies in the script: 3. Requests: 1.');
  await ask(model);
  await ask(model);
  model.assertDone();
  await expect(ask(model)).rejects.toMatchObject({
    code: 'MODEL_SERVER',
    message: 'The script has no reply for request 4.',
  });
  expect(() => model.assertDone()).toThrow('Replies in the script: 3. Requests: 4.');
});
