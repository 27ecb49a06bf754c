import { expect, test } from 'vitest';
import {
  assistantMessage,
  toolMessage,
  userMessage,
  textOf,
  type Msg,
  InMemoryMemory,
  tool,
  type AgentOptions,
} from '@isoloop/core';
import { springAiAlibaba } from '@isoloop/presets';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import type { ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const ran: string[] = [];
const lookup = tool({
  name: 'lookup',
  description: '',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => `ran ${ran.push('lookup')}`,
});

const calls = (...ids: readonly string[]): Msg =>
  assistantMessage(ids.map((id) => ({ type: 'tool_use', id, name: 'lookup', input: {} })));
const result = (toolUseId: string, output = `of ${toolUseId}`): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name: 'lookup', output, state: 'success' });

function agentWith(replies: readonly ScriptedReply[], more: Partial<AgentOptions> = {}) {
  const { agent, model } = scriptedAgent(replies, { tools: [lookup], ...more });
  return { agent, model };
}

const rolesOf = (messages: readonly Msg[] | undefined): string =>
  (messages ?? []).map(({ role }) => role[0]).join('');

test.each<[string, readonly Msg[], string]>([
  ['one round', [userMessage('a'), calls('1'), result('1'), userMessage('b')], 'uatu'],
  [
    'two rounds and an answer between',
    [
      userMessage('a'),
      calls('1'),
      result('1'),
      assistantMessage('c'),
      userMessage('b'),
      calls('2'),
      result('2'),
    ],
    'uatauat',
  ],
  [
    'results in another order',
    [userMessage('a'), calls('1', '2'), result('2'), result('1')],
    'uatt',
  ],
  [
    'one message with both results',
    [
      userMessage('a'),
      calls('1', '2'),
      { ...result('1'), content: [...result('1').content, ...result('2').content] },
    ],
    'uat',
  ],
])('call() accepts a transcript with tool calls: %s', async (_, messages, roles) => {
  const { agent, model } = agentWith(['Done.', 'Again.'], { use: [springAiAlibaba()] });
  expect(await agent.call(messages)).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(rolesOf(model.requests[0]?.messages)).toBe(roles);
  expect(requestFaults(model.requests[0]!.messages)).toEqual([]);
  expect((await agent.call('And now?')).text).toBe('Again.');
  expect(rolesOf(model.requests[1]?.messages)).toBe(`${roles}au`);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(ran).toEqual([]);
});

test('call() and stream() accept a transcript after earlier calls and beside plain messages', async () => {
  const { agent, model } = agentWith(['One.', 'Two.']);
  await agent.call('go');
  const more = [{ role: 'user', content: 'a' }, calls('1'), result('1')] as const;
  expect((await agent.stream(more).result).text).toBe('Two.');
  expect(model.requests[1]!.messages.map(textOf).slice(0, 3)).toEqual(['go', 'One.', 'a']);
});

test.each<[string, readonly Msg[]]>([
  ['without a result', [userMessage('a'), calls('1'), userMessage('b')]],
  ['at the end', [userMessage('a'), calls('1')]],
  ['beside a closed one', [userMessage('a'), calls('1', '2'), result('2'), userMessage('b')]],
  ['with its result before it', [result('1'), calls('1')]],
  ['twice, with one result', [userMessage('a'), calls('1'), calls('1'), result('1')]],
  ['with the id of another', [userMessage('a'), calls('1'), result('1'), calls('1')]],
])('a transcript with an invalid tool call is rejected: %s', async (_, messages) => {
  const memory = new InMemoryMemory();
  const { agent, model } = agentWith([], { memory });
  const expected = { code: 'INVALID_INPUT', details: { id: '1' } };
  await expect(agent.call(messages)).rejects.toMatchObject(expected);
  expect(() => agent.stream(messages)).toThrow(expect.objectContaining(expected));
  const options = { throwOnError: false };
  expect(await agent.call(messages, options)).toMatchObject({ reason: 'error', error: expected });
  expect([await memory.read(), model.requests]).toEqual([[], []]);
});

test('of two results of one tool call in a transcript, the model gets the first', async () => {
  const { agent, model } = agentWith(['Done.']);
  await agent.call([userMessage('a'), calls('1'), result('1'), result('1'), userMessage('b')]);
  expect(rolesOf(model.requests[0]?.messages)).toBe('uatu');
});

test('an open tool call in a transcript needs a result, or the option of the memory', async () => {
  const messages = [userMessage('a'), calls('1')];
  await expect(agentWith([]).agent.call(messages)).rejects.toThrow(
    'The tool call "1" of the input needs a result after it.',
  );
  expect((await agentWith(['Done.']).agent.call([...messages, result('1')])).text).toBe('Done.');
  const { agent } = agentWith(['Done.'], {
    memory: new InMemoryMemory(messages, { unnotedCalls: 'run' }),
  });
  expect((await agent.call()).pending).toMatchObject([{ toolUseId: '1' }]);
  expect((await agent.call([{ toolUseId: '1', type: 'approve' }])).text).toBe('Done.');
});

test('call() rejects a tool call id that the conversation already has', async () => {
  const { agent } = agentWith(['One.', 'Two.']);
  await agent.call([userMessage('a'), calls('1'), result('1')]);
  await expect(agent.call([userMessage('b'), calls('1'), result('1')])).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    details: { id: '1' },
  });
  expect((await agent.call([userMessage('b'), calls('2'), result('2')])).text).toBe('Two.');
});

test('results of the conversation’s own open tool calls remain decisions', async () => {
  const asks = { toolCalls: [{ name: 'lookup', id: 'own' }] };
  const { agent } = agentWith([asks, 'Done.']);
  await agent.call('go');
  await expect(agent.call([userMessage('a'), calls('1'), result('1')])).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
  });
  await expect(agent.call([calls('1'), result('1'), result('own')])).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  await expect(agent.call(result('other'))).rejects.toMatchObject({ code: 'INVALID_DECISION' });
  expect((await agent.call(result('own'))).text).toBe('Done.');
});
