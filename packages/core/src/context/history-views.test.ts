import { closeOpenCalls } from '../approval/close-open-calls.ts';
import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { jsonMode } from '../output/json-and-yaml-mode.ts';
import { AgentError } from '../error/agent-error.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import {
  assistantMessage,
  toolMessage,
  userMessage,
  textOf,
  type ContentBlock,
  type Msg,
} from '../message/msg.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { inTurn } from '@test/support/in-turn.ts';
import { prepending } from '@test/support/prepending.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import type { ContextMiddleware, FittedContext } from './context-policy.ts';
import { answersOnly, lastTurns, successfulTurns } from './history-views.ts';

const look = tool({ name: 'look', description: '', input: {}, execute: () => 'found' });
const call = { toolCalls: [{ name: 'look' }] };

const lineOf = (message: Msg): string =>
  `${message.role}: ${textOf(message) || message.content.map(({ type }) => type).join()}`;

function setUp(
  replies: readonly ScriptedReply[],
  context: ContextMiddleware,
  options: Partial<AgentOptions> = {},
) {
  const { agent, model } = scriptedAgent(replies, {
    tools: [look],
    ...options,
    use: [...(options.use ?? []), context],
  });
  return {
    agent,
    model,
    lastSeen: (): readonly string[] => model.requests.at(-1)!.messages.map(lineOf),
  };
}

const down = { error: new AgentError('MODEL_SERVER', 'down') };

test('successfulTurns() omits turns that failed before, during or after a reply', async () => {
  const { agent, lastSeen } = setUp(
    ['One.', down, call, down, { text: 'Half of', ...down }, call, 'Two.', 'Last.'],
    successfulTurns(),
  );
  await agent.call('first');
  for (const question of ['broken', 'broken later', 'broken in the middle'])
    await agent.call(question, { throwOnError: false });
  await agent.call('second');
  await agent.call('last');
  expect(lastSeen()).toEqual([
    'user: first',
    'assistant: One.',
    'user: second',
    'assistant: tool_use',
    'tool: tool_result',
    'assistant: Two.',
    'user: last',
  ]);
  expect((await agent.messages()).map(textOf)).toEqual(
    expect.arrayContaining(['broken', 'broken later', 'broken in the middle']),
  );
});

test('successfulTurns() omits a turn whose answer never matched its schema, but the log keeps the text', async () => {
  const { agent, lastSeen } = setUp(['never', 'nor now', 'Last.'], successfulTurns());
  expect(await agent.call('as JSON', { output: jsonMode(), throwOnError: false })).toMatchObject({
    reason: 'error',
    text: 'nor now',
  });
  await agent.call('last');
  expect(lastSeen()).toEqual(['user: last']);
  expect((await agent.messages()).map(textOf)).toContain('nor now');
});

test('successfulTurns() omits turns that were interrupted or aborted before, during or after a reply', async () => {
  const { agent, lastSeen } = setUp(
    [call, { text: 'one two' }, { text: 'three four' }, 'Last.'],
    successfulTurns(),
  );
  const stop = async (question: string, at: string, how: 'interrupt' | 'abort'): Promise<void> => {
    const stream = agent.stream(question);
    for await (const { type } of stream) {
      if (type !== at) continue;
      if (how === 'interrupt') agent.interrupt(assistantMessage('As you like.'));
      else stream.cancel();
    }
  };
  await stop('interrupted after a tool', 'post-acting', 'interrupt');
  await stop('interrupted in the reply', 'reasoning-chunk', 'interrupt');
  await stop('aborted in the reply', 'reasoning-chunk', 'abort');
  await stop('aborted before the reply', 'pre-reasoning', 'abort');
  expect(
    (await agent.messages()).map(textOf).filter((text) => text.startsWith('As you')),
  ).toHaveLength(2);
  await agent.call('last');
  expect(lastSeen()).toEqual(['user: last']);
});

test('successfulTurns() keeps a turn that succeeded after a failure, and omits a turn that never ended', async () => {
  const replies = [call, down, 'Answered after all.', call, 'Last.'];
  const { agent, lastSeen } = setUp(replies, successfulTurns(), {
    tools: [tool({ name: 'look', description: '', input: {} })],
    use: [closeOpenCalls()],
  });
  const { pending } = await agent.call('waits');
  await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'result', output: 'found' }], {
    throwOnError: false,
  });
  await agent.call();
  await agent.call('waits for ever');
  await agent.call('last');
  expect(lastSeen()).toEqual([
    'user: waits',
    'assistant: tool_use',
    'tool: tool_result',
    'assistant: Answered after all.',
    'user: last',
  ]);
});

test('successfulTurns() keeps a summary at the limit of iterations, and treats an input of several messages as one question', async () => {
  const { agent, lastSeen } = setUp([call, 'In short.', 'Last.'], successfulTurns(), {
    limits: { iterations: 1 },
  });
  await agent.call([userMessage('first'), userMessage('and second')]);
  await agent.call('last');
  const question = ['user: first', 'user: and second'];
  expect(lastSeen()).toEqual([
    ...question,
    'assistant: tool_use',
    'tool: tool_result',
    'assistant: In short.',
    'user: last',
  ]);
});

test('observed messages belong to the turn of the next question', async () => {
  const { agent, lastSeen } = setUp([down, 'Answer.', 'Last.'], successfulTurns());
  await agent.call('broken', { throwOnError: false });
  await agent.observe('By the way.');
  await agent.call('question');
  await agent.call('last');
  expect(lastSeen()).toEqual([
    'user: By the way.',
    'user: question',
    'assistant: Answer.',
    'user: last',
  ]);
});

test('injected messages belong to the turn of the running call', async () => {
  const { agent, lastSeen } = setUp(
    [call, 'Answer.', 'Other.', 'Last.'],
    inTurn(answersOnly(), lastTurns(1)),
  );
  const stream = agent.stream('question');
  for await (const { type } of stream)
    if (type === 'pre-acting') agent.interrupt({ mode: 'inject', messages: 'in short' });
  await agent.call('last');
  expect(lastSeen()).toEqual([
    'user: question',
    'user: in short',
    'assistant: Answer.',
    'user: last',
  ]);
});

test('lastTurns() keeps the given number of turns before the current turn, which stays whole', async () => {
  const { agent, model, lastSeen } = setUp(['1', '2', call, '3', call, call, '4'], lastTurns(1));
  for (const question of ['one', 'two', 'three', 'four']) await agent.call(question);
  expect(lastSeen().slice(0, 5)).toEqual([
    'user: three',
    'assistant: tool_use',
    'tool: tool_result',
    'assistant: 3',
    'user: four',
  ]);
  expect(lastSeen()).toHaveLength(9);
  expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 3, 5, 5, 7, 9]);
  expect(await agent.messages()).toHaveLength(14);
});

test('lastTurns(0) keeps only the current turn, and lastTurns() rejects invalid counts', async () => {
  const { agent, lastSeen } = setUp(['1', '2'], lastTurns(0));
  await agent.call('one');
  await agent.call('two');
  expect(lastSeen()).toEqual(['user: two']);
  for (const count of [-1, 1.5, NaN, '2' as unknown as number]) {
    expect(() => lastTurns(count)).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
  }
});

test('answersOnly() keeps the question and the text of the last iteration, without tools and thinking', async () => {
  const thinks = { thinking: 'Hm.', text: 'Found it.' };
  const { agent, model, lastSeen } = setUp(
    [{ text: 'I look.', ...call }, thinks, call, 'Other.', 'Last.'],
    answersOnly(),
  );
  await agent.call('where?');
  await agent.call('and now?');
  const earlier = ['user: where?', 'assistant: Found it.'];
  expect(lastSeen()).toEqual([
    ...earlier,
    'user: and now?',
    'assistant: tool_use',
    'tool: tool_result',
  ]);
  expect(model.requests.at(-1)!.messages[1]!.content).toEqual([
    { type: 'text', text: 'Found it.' },
  ]);
  // The messages are the same objects in each request, so that the values cached on the objects
  // stay valid.
  expect(model.requests.at(-1)!.messages[1]).toBe(model.requests.at(-2)!.messages[1]);
  await agent.call('last');
  expect(lastSeen()).toEqual([...earlier, 'user: and now?', 'assistant: Other.', 'user: last']);
});

test('all views keep the system prompt and recalled messages, and `context-fitted` counts the removed messages', async () => {
  const recalled = userMessage('You know Ann.');
  const { agent, lastSeen } = setUp(
    ['1', '2', '3'],
    inTurn(successfulTurns(), lastTurns(1), answersOnly()),
    {
      systemPrompt: 'Be kind.',
      use: [prepending(async () => [recalled])],
    },
  );
  await agent.call('one');
  await agent.call('two');
  const stream = agent.stream('three');
  const events = [];
  for await (const event of stream) if (event.type === 'context-fitted') events.push(event);
  expect(lastSeen()).toEqual([
    'system: Be kind.',
    'user: You know Ann.',
    'user: two',
    'assistant: 2',
    'user: three',
  ]);
  expect(events).toMatchObject([{ removed: 2, before: 22, after: 20 }]);
});

test('in an imported log without run ids, each question begins a turn', async () => {
  const failed = [
    userMessage('failed'),
    assistantMessage([{ type: 'tool_use', id: 'c', name: 'look', input: {} }]),
  ];
  const result = toolMessage({
    type: 'tool_result',
    toolUseId: 'c',
    name: 'look',
    output: '',
    state: 'success',
  });
  const history = [
    assistantMessage('Hello.'),
    userMessage('one'),
    userMessage('more'),
    assistantMessage('1'),
    ...failed,
    result,
  ];
  const memory = new InMemoryMemory([...history, userMessage('two'), assistantMessage('2')]);
  const { agent, lastSeen } = setUp(['Last.'], successfulTurns(), { memory });
  await agent.call('last');
  expect(lastSeen().map((line) => line.split(': ')[1])).toEqual([
    'Hello.',
    'one',
    'more',
    '1',
    'two',
    '2',
    'last',
  ]);
});

test('tool results in a user message are kept or removed together with their tool calls', async () => {
  const asking = assistantMessage([{ type: 'tool_use', id: 'c', name: 'look', input: {} }]);
  const result: ContentBlock = {
    type: 'tool_result',
    toolUseId: 'c',
    name: 'look',
    output: 'found',
    state: 'success',
  };
  const brought = userMessage([result, { type: 'text', text: 'Quick!' }], { id: 'brought' });
  const log = [
    userMessage('Look.', { id: 'q' }),
    asking,
    brought,
    assistantMessage('Found it.', { id: 'a' }),
    userMessage('So?', { id: 'p' }),
  ];
  const given = { messages: log, tools: [], questionId: 'p' };
  for (const policy of [successfulTurns(), lastTurns(1)])
    expect((await policy.fit(given)).messages).toBe(log);
  const { messages } = await answersOnly().fit(given);
  expect(messages.map(({ id }) => id)).toEqual(['q', 'brought', 'a', 'p']);
  expect(messages[1]!.content).toEqual([{ type: 'text', text: 'Quick!' }]);
  const alone = log.with(2, { ...brought, content: [result] });
  expect(
    (await answersOnly().fit({ ...given, messages: alone })).messages.map(({ id }) => id),
  ).toEqual(['q', 'a', 'p']);
});

test('in a request without a prompt id, the last turn is the current turn', () => {
  const messages = [
    userMessage('one'),
    assistantMessage('1'),
    userMessage('two'),
    assistantMessage('2'),
  ];
  const view = (policy: ContextMiddleware): readonly string[] =>
    (policy.fit({ messages, tools: [] }) as FittedContext).messages.map(textOf);
  expect(view(lastTurns(0))).toEqual(['two', '2']);
  expect(view(lastTurns(1))).toEqual(['one', '1', 'two', '2']);

  const policy = lastTurns(0);
  const shown = [2, 4].map((length) =>
    (policy.fit({ messages: messages.slice(0, length), tools: [] }) as FittedContext).messages.map(
      textOf,
    ),
  );
  expect(shown).toEqual([
    ['one', '1'],
    ['two', '2'],
  ]);
});

test('answersOnly() does not treat the correction of an unreadable reply as a question', async () => {
  const { agent, lastSeen } = setUp(['Last.'], answersOnly());
  await agent.observe([
    userMessage('first', { metadata: { runId: '1' } }),
    assistantMessage('{"tool', { metadata: { correction: 'reply' } }),
    userMessage('That is no JSON.', { metadata: { runId: '1', correction: 'message' } }),
    assistantMessage('One.'),
  ]);
  await agent.call('last');
  expect(lastSeen()).toEqual(['user: first', 'assistant: One.', 'user: last']);
});
