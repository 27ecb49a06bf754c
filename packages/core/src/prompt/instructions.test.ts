import { expect, test } from 'vitest';
import { ReActAgent, createMessage, textOf, tool, type Msg } from '@isoloop/core';
import { inputGuard } from '@isoloop/guards';
import { ScriptedModel } from '@isoloop/core/testing';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

const place = tool({ name: 'place', description: 'Where', input: { type: 'object' } });
const instructions = [createMessage('system', 'Be brief.')];
const said = (messages: readonly Msg[]): readonly string[] => messages.map(textOf);

test('instructions are in each request of their call, after the system prompt, and not stored', async () => {
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ id: 'c', name: 'place' }] }, 'Here.', 'Hi.'],
    { systemPrompt: 'Care.', tools: [place] },
  );
  await agent.call('Where?', { instructions });
  const decision = { type: 'result', toolUseId: 'c', output: 'Seoul' } as const;
  await agent.call([decision], { instructions: [createMessage('user', 'Be kind.')] });
  await agent.call('Hello.');
  expect(model.requests.map(({ messages }) => said(messages).slice(0, 3))).toEqual([
    ['Care.', 'Be brief.', 'Where?'],
    ['Care.', 'Be kind.', 'Where?'],
    ['Care.', 'Where?', ''],
  ]);
  expect(said(await agent.memory.read()).join()).not.toMatch(/Be /);
});

test('guards judge instructions with the input, and may change them', async () => {
  const model = new ScriptedModel(['ok']);
  const seen: (readonly string[])[] = [];
  const guard = (input: readonly Msg[]): readonly Msg[] => {
    seen.push(said(input));
    return input.map((each) => ({
      ...each,
      content: [{ type: 'text', text: `${textOf(each)}!` }],
    }));
  };
  const agent = new ReActAgent({ name: 'a', model, use: [inputGuard('guard', guard)] });
  await agent.call('Hello', { instructions });
  expect(seen).toEqual([['Be brief.', 'Hello']]);
  expect(said(model.requests[0]!.messages)).toEqual(['Be brief.!', 'Hello!']);
  expect(said(await agent.memory.read())).toEqual(['Hello!', 'ok']);
});

test('a call with instructions does not join a running call', async () => {
  const { agent } = scriptedAgent(['One.', 'Two.'], { whenBusy: 'inject' });
  const both = await Promise.all([agent.call('First?'), agent.call('Next?', { instructions })]);
  expect(both.map(({ text }) => text)).toEqual(['One.', 'Two.']);
});

test('instructions that are not messages are refused', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Never.']) });
  for (const wrong of ['Be brief.', ['Be brief.'], [{ role: 'system' }], [null], instructions[0]])
    await expect(agent.call('Hi', { instructions: wrong as never })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('instructions'),
    });
  const second = [...instructions, { role: 'system', content: 'Be kind.' }] as never;
  await expect(agent.call('Hi', { instructions: second })).rejects.toThrow(
    "Item 1 of `instructions` is no message. Create messages with systemMessage('…').",
  );
});
