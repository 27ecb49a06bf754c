import { afterEach, expect, test, vi } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { fallback } from '../../resilience/fallback.ts';
import { retry } from '../../resilience/retry.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { boundedModel } from './bounded-model.ts';
import type { ModelDelta } from '../chat-model.ts';
import { ReplyLength } from './reply-length.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const words = ['one ', 'two ', 'three '];
const failure: ScriptedReply = { error: new AgentError('MODEL_SERVER', 'Down.') };

test.for<[what: string, first: readonly ScriptedReply[], use: () => readonly Middleware[]]>([
  ['no wrapper', [words.join('')], () => []],
  ['retry()', [words.join('')], () => [retry()]],
  ['fallback() and retry()', [words.join('')], () => [fallback([new ScriptedModel([])]), retry()]],
  ['a model of fallback()', [failure], () => [fallback([new ScriptedModel([words.join('')])])]],
])('each delta is measured once, with %s', async ([, first, use]) => {
  const measured: string[] = [];
  const add = vi.spyOn(ReplyLength.prototype, 'add').mockImplementation((deltas) => {
    for (const delta of deltas) if (delta.type === 'text') measured.push(delta.delta);
  });
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(first), use: use() });
  expect((await agent.call('go')).text).toBe('one two three ');
  expect(add).toHaveBeenCalled();
  expect(measured).toEqual(words);
});

test('a reply that has ended is not kept for the abort of its run', async () => {
  const leave = vi.fn<() => Promise<IteratorReturnResult<undefined>>>();
  const { provider, modelId, features } = new ScriptedModel([]);
  const batches = (): AsyncIterator<readonly ModelDelta[]> => ({
    next: () => Promise.resolve({ done: true, value: undefined }),
    return: leave,
  });
  const stream = (): AsyncIterable<readonly ModelDelta[]> => ({ [Symbol.asyncIterator]: batches });
  const model = boundedModel({ provider, modelId, features, stream });
  const abort = new AbortController();
  const request = { messages: [], tools: [] };
  for await (const _deltas of model.stream(request, { signal: abort.signal })) expect.unreachable();
  abort.abort();
  expect(leave).not.toHaveBeenCalled();
});
