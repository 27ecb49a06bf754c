import { expect, test } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { assistantMessage, type ToolUse } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';

const callOf = (id: string): ToolUse => ({ type: 'tool_use', id, name: 'pay', input: { id } });
const [one, two] = [callOf('one'), callOf('two')];

test('a decision is kept for a call without notes, too', async () => {
  const memory = new InMemoryMemory([assistantMessage([one])]);
  const { live } = liveRun({ memory });
  await live.log.open();
  const decision = { toolUseId: 'one', type: 'approve' } as const;
  live.states.applyNotes([{ kind: 'decision', decision }]);
  expect(live.states.of(one)).toMatchObject({ started: true, decision });
});

test('applyMessages() drops the states of removed calls, and opens those of new messages', async () => {
  const { live } = liveRun();
  const earlier = assistantMessage([one]);
  await openWith(live, earlier);
  live.states.applyNotes([{ kind: 'call-started', toolUseId: 'one' }]);
  await live.log.edit({ remove: [earlier.id], append: [assistantMessage([two])] });
  expect(live.states.of(one)).toBeUndefined();
  expect(live.calls.isOpen(one)).toBe(false);
  expect(live.calls.open.map(({ toolUse }) => toolUse.id)).toEqual(['two']);
});
