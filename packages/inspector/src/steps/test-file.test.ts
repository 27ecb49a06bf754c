import { assistantMessage, toolMessage, userMessage } from '@isoloop/core';
import { expect, test } from 'vitest';
import { loggedTurns } from './log-turns.ts';
import { testFile } from './test-file.ts';

const messages = [
  userMessage('Hello.'),
  assistantMessage('Hi.'),
  userMessage("What's the time in 東京?"),
  assistantMessage([
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'x9', name: 'time_in_city', input: { city: '東京' } },
  ]),
  toolMessage({
    type: 'tool_result',
    toolUseId: 'x9',
    name: 'time_in_city',
    output: '17:42',
    state: 'success',
  }),
  assistantMessage('17:42. Your password is: hunter2hunter2'),
];

test('an exported test has the earlier turns, the replies and the results, and no secret', () => {
  const { name, source } = testFile(loggedTurns(messages)[1]!);
  expect(name).toBe('what-s-the-time-in.test.ts');
  expect(source).toBe(`import { ReActAgent, createMessage, tool } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';

// What the tools answered, by the id of the call.
const answers: Record<string, { output?: string; error?: string; waits?: boolean }> = {
  call_1: { output: '17:42' },
};

const tools = ['time_in_city'].map((name) =>
  tool({
    name,
    description: 'Answers as in the log',
    input: {},
    execute: (_input, { toolUseId, suspend }) => {
      const { output, error, waits } = answers[toolUseId]!;
      if (waits) suspend();
      if (error !== undefined) throw new Error(error);
      return output;
    },
  }),
);

test('What\\'s the time in 東京?', async () => {
  const model = new ScriptedModel([
    { text: 'I look.', toolCalls: [{ name: 'time_in_city', input: {"city":"東京"} }] },
    '17:42. Your password is: ***',
  ]);
  // Put your own agent here, with \`model\` as its model.
  const agent = new ReActAgent({ name: 'assistant', model, tools });
  await agent.observe([
    createMessage('user', 'Hello.'),
    createMessage('assistant', 'Hi.'),
  ]);
  const result = await agent.call('What\\'s the time in 東京?');
  expect(result.reason).toBe('stop');
  expect(result.text).toBe('17:42. Your password is: ***');
  expect(result.toolsUsed).toEqual(['time_in_city']);
  model.assertDone();
});
`);
});
