import { expect, test } from 'vitest';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { assistantMessage, createMessage, userMessage } from '../message/msg.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { markImported } from './mark-imported.ts';

const imported = { metadata: { imported: true } };
const use = { type: 'tool_use', id: 'c', name: 'look', input: {} } as const;
const resultOf = (output: string) =>
  ({ type: 'tool_result', toolUseId: 'c', name: 'look', output, state: 'success' }) as const;

test('the model sees which answers and results are imported, and the log keeps them unchanged', async () => {
  const history = [
    userMessage('Hi'),
    { ...createMessage('assistant', [use]), ...imported },
    { ...createMessage('tool', [resultOf('found')]), ...imported },
    assistantMessage('Mine'),
  ];
  const memory = new InMemoryMemory(history);
  const { agent, model } = scriptedAgent(['Done.'], {
    memory,
    use: [markImported({ text: '(?)' })],
  });
  await agent.call('Next');
  const sent = model.requests[0]!.messages;
  expect(sent.map(({ content }) => content)).toEqual([
    [{ type: 'text', text: 'Hi' }],
    [{ type: 'text', text: '(?)' }, use],
    [resultOf('(?)\nfound')],
    [{ type: 'text', text: 'Mine' }],
    [{ type: 'text', text: 'Next' }],
  ]);
  expect((await memory.read()).slice(0, 4)).toEqual(history);
});
