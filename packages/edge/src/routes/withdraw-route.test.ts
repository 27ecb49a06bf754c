import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { places, post, shown } from '../../test-support/queue-places.ts';
import { ask, gate } from '../../test-support/session-client.ts';

test.each(places)(
  '%s gives a waiting message back, but not one whose turn has begun',
  async (_name, openPlace) => {
    const held = gate();
    const place = openPlace([{ wait: held.passed, text: 'One.' }, 'Three.']);
    const messages = [ask('One?'), ask('Two?'), ask('Three?')] as const;
    const first = await post(place, messages[0]);
    const second = await post(place, messages[1]);
    await post(place, messages[2], { queue: true });
    const withdraw = async ({ id }: UIMessage): Promise<number> =>
      (await place.send(`/api/chat/${place.id}/queue/${id}`, { method: 'DELETE' })).status;
    expect(await withdraw(messages[1])).toBe(204);
    expect(await withdraw(messages[1])).toBe(404);
    expect(await withdraw(messages[0])).toBe(404);
    expect(await second.text()).toContain('ABORTED');
    expect((await shown(place)).queued).toEqual([['Three?', 'waiting', undefined]]);
    held.open();
    await first.text();
    await expect
      .poll(() => shown(place))
      .toEqual({ texts: ['One?', 'One.', 'Three?', 'Three.'], queued: [] });
  },
);
