import { expect, test } from 'vitest';
import { fallback } from '../../resilience/fallback.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import type { ChatModel } from '../chat-model.ts';
import { withStream } from '../wrap-model.ts';

// A model of a user's own, or a wrapper of a model, may yield what is no delta.

function modelThat(stream: () => unknown): ChatModel {
  const { provider, features } = new ScriptedModel([]);
  return { provider, modelId: 'own', features, stream: stream as ChatModel['stream'] };
}

const yielding = (...batches: readonly unknown[]): ChatModel =>
  modelThat(async function* () {
    yield* batches;
  });

const refusal = (...parts: readonly string[]): unknown =>
  expect.objectContaining({
    code: 'MODEL_BAD_RESPONSE',
    message: expect.stringMatching(
      new RegExp(parts.map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('.*'), 's'),
    ),
  });

const advice = "such as [{ type: 'text', id: '0', delta: 'Hi' }]";

test.each([
  [{ type: 'text', text: 'hi' }, ['type, text', '"text"', 'delta must be a string; got nothing.']],
  [{ type: 'text', delta: 'hi' }, ['id must be a string; got nothing.']],
  [{ type: 'text', id: 't', delta: 5 }, ['"text"', 'delta must be a string; got 5.']],
  [{ type: 'text', id: 't', delta: null }, ['delta must be a string; got null.']],
  [
    { type: 'thinking', id: 't', thinking: 'so' },
    ['"thinking"', 'delta must be a string; got nothing.'],
  ],
  [{ type: 'tool-input', index: 0, name: 'f' }, ['"tool-input"', 'delta must be a string']],
  [{ type: 'tool-input', name: 'f', delta: '{}' }, ['index must be a whole number of 0 or more']],
  [{ type: 'tool-input', index: 0, name: 5, delta: '{}' }, ['name must be a string; got 5.']],
  [{ type: 'tool-input', index: 0, id: 5, delta: '{}' }, ['id must be a string; got 5.']],
  [
    { type: 'tool-input', index: 0, name: 'f', delta: { a: 1 } },
    ['delta must be a string; got an object.'],
  ],
  [{ type: 'file', mediaType: 'image/png' }, ['"file"', 'data must be a string; got nothing.']],
  [{ type: 'file', data: 'AA==' }, ['mediaType must be a string; got nothing.']],
  [{ type: 'reset' }, ['"reset"', 'reason must be a string; got nothing.']],
  [{ type: 'finish' }, ['"finish"', 'reason must be a string; got nothing.']],
  [{ type: 'finish', reason: 'stop', usage: 5 }, ['usage must be an object; got 5.']],
  [
    { type: 'finish', reason: 'stop', usage: { inputTokens: '10', outputTokens: 1 } },
    ['usage: inputTokens must be a number of 0 or more; got a string.'],
  ],
  [
    { type: 'tool-call', toolName: 'f' },
    ['type, toolName', 'type must be', 'tool-input', '"tool-call"'],
  ],
  [{ choices: [] }, ['with the fields choices: type must be']],
  [{}, ['type must be']],
  [{ type: 'toString' }, ['type must be']],
  ['hi', ['it must be an object; got a string.']],
  [null, ['it must be an object; got null.']],
  [undefined, ['it must be an object; got nothing.']],
  [['hi'], ['type must be']],
  [[{ type: 'text', id: 't', delta: 'hi' }], ['type must be']],
] as const)('the delta %j is refused by name', async (delta, parts) => {
  const agent = new ReActAgent({ name: 'a', model: yielding([delta]) });
  const expected = refusal('The model "own"', ...parts, advice);
  await expect(agent.call('go')).rejects.toThrow(expected as Error);
  const good = { type: 'text', id: 't', delta: 'secret' };
  const later = new ReActAgent({ name: 'a', model: yielding([good], [good, delta]) });
  await expect(later.call('go')).rejects.toThrow(expected as Error);
  await expect(later.call()).rejects.not.toThrow(/secret/);
});

test.each([
  ['one delta', { type: 'text', id: 't', delta: 'hi' }, 'an object'],
  ['a text', 'hi', 'a string'],
  ['nothing', undefined, 'nothing'],
  ['null', null, 'null'],
])('a batch that is %s is refused', async (_what, batch, kind) => {
  const agent = new ReActAgent({ name: 'a', model: yielding(batch) });
  const expected = refusal('The model "own"', `batch must be an array; got ${kind}.`, advice);
  await expect(agent.call('go')).rejects.toThrow(expected as Error);
});

test.each([
  ['a promise', async () => [{ type: 'text', id: 't', delta: 'hi' }]],
  ['a list', () => [[{ type: 'text', id: 't', delta: 'hi' }]]],
  [
    'a synchronous generator',
    function* () {
      yield [{ type: 'text', id: 't', delta: 'hi' }];
    },
  ],
  ['nothing', () => undefined],
  ['a text', () => 'hi'],
])('a stream() that returns %s is refused', async (_what, stream) => {
  const agent = new ReActAgent({ name: 'a', model: modelThat(stream) });
  const expected = refusal('stream() of the model "own" must return an async iterable');
  await expect(agent.call('go')).rejects.toThrow(expected as Error);
});

test('a delta of a wrapper is refused with the name of the wrapper', async () => {
  const model = new ScriptedModel(['Hi.']);
  const wrapper = {
    name: 'mine',
    wrapModel: (next: ChatModel) =>
      withStream(next, yielding([{ type: 'text', text: 'x' }]).stream),
  };
  const agent = new ReActAgent({ name: 'a', model, use: [wrapper] });
  const expected = refusal('wrapModel() of "mine"', 'delta must be a string');
  await expect(agent.call('go')).rejects.toThrow(expected as Error);
});

test('fallback() asks the next model, because a batch without a delta is a failed reply', async () => {
  const model = yielding([{ type: 'text', text: 'hi' }]);
  const use = [fallback([new ScriptedModel(['Hi.'])])];
  expect((await new ReActAgent({ name: 'a', model, use }).call('go')).text).toBe('Hi.');
});

test('deltas with more fields than needed, or with optional ones left out, are accepted', async () => {
  const echo = tool({ name: 'f', description: '', input: { type: 'object' }, execute: () => 'ok' });
  const replies = [
    [{ type: 'tool-input', index: 0, name: 'f', delta: '' }],
    [{ type: 'text', id: '', delta: 'Hi', extra: 1 }],
  ];
  const model = modelThat(async function* () {
    yield replies.shift();
    yield [];
    yield [{ type: 'finish', reason: 'stop', usage: null, metadata: null }];
  });
  const agent = new ReActAgent({ name: 'a', model, tools: [echo] });
  expect(await agent.call('go')).toMatchObject({ text: 'Hi', toolsUsed: ['f'] });
});
