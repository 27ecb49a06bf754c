import { expect, test, vi } from 'vitest';
import type { AgentEvent } from '../../event/agent-event.ts';
import { assistantMessage } from '../../message/msg.ts';
import { liveRun } from '@test/support/live-run.ts';

const reset = (reason: string) => ({ reason });

test('mapEvent changes what readers get, the first middleware last, and no delta passes it', async () => {
  const marked = (mark: string) => (event: AgentEvent) =>
    event.type === 'step-reset' ? { ...event, reason: `${event.reason}${mark}` } : event;
  const { live, events } = liveRun({ use: [{ mapEvent: marked('1') }, { mapEvent: marked('2') }] });
  await live.outbox.emit('step-reset', reset('r'));
  expect(events).toMatchObject([{ reason: 'r21' }]);
  const mapEvent = vi.fn();
  const other = liveRun({ use: [{ mapEvent }] });
  await other.live.outbox.sendText(assistantMessage('Hi.'));
  expect(other.types()).toEqual(['reasoning-chunk']);
  expect(mapEvent).not.toHaveBeenCalled();
});

test.each([
  ['a promise', async () => {}],
  ['another event', (event: AgentEvent) => ({ ...event, type: 'run-end' })],
  ['a copy with another number', (event: AgentEvent) => ({ ...event, seq: 99 })],
])(
  'a mapEvent that returns %s fails with HOOK_ERROR and its name, and so does the next event',
  async (_what, mapEvent) => {
    const { live } = liveRun({ use: [{ name: 'map', mapEvent: mapEvent as never }] });
    for (const reason of ['r', 'next'])
      await expect(live.outbox.emit('step-reset', reset(reason))).rejects.toMatchObject({
        code: 'HOOK_ERROR',
        message: expect.stringMatching(/mapEvent\(\) of "map" failed: (it|return)/) as string,
      });
  },
);
