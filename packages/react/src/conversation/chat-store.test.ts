import { expect, test } from 'vitest';
import { ChatStore } from './chat-store.ts';

test('an event that changes what the chat does is told once', () => {
  const store = new ChatStore(false, []);
  const phases: string[] = [];
  store.subscribe(() => phases.push(store.state.phase));
  const event = { type: 'run-start', runId: 'r', seq: 1, iteration: 0, at: 0, agentPath: ['a'] };
  store.addData({ type: 'data-isoloop-event', data: event });
  store.addData({ type: 'data-isoloop-event', data: { ...event, seq: 2, continues: true } });
  expect(phases).toEqual(['other-tab', 'continuing']);
  expect(store.runEvents.list).toHaveLength(2);
});
