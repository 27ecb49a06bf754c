import { AgentError } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  answerIn,
  asksColor,
  objectPlace,
  places,
  post,
  result,
  shown,
} from '../../test-support/queue-places.ts';
import { ask, gate } from '../../test-support/session-client.ts';

test.each(places)(
  '%s keeps an accepted message until the page has given the result for which the answer waits',
  async (_name, openPlace) => {
    const held = gate();
    const asks = { ...(asksColor as object), wait: held.passed } as ScriptedReply;
    const place = openPlace([asks, 'Blue it is.', 'Hello to you.', 'Bye, then.']);
    const first = await post(place, ask('Paint'), { queue: true });
    const second = await post(place, ask('Hello'));
    const third = await post(place, ask('Bye'), { queue: true });
    expect([first.status, second.status, third.status]).toEqual([200, 200, 202]);
    held.open();
    const firstText = await first.text();
    expect(firstText).toContain('"color"');
    await expect
      .poll(() => shown(place))
      .toEqual({
        texts: ['Paint', ''],
        queued: [
          ['Hello', 'waiting', undefined],
          ['Bye', 'waiting', undefined],
        ],
      });
    const messageId = /"messageId":"([^"]+)"/.exec(firstText)![1]!;
    const answer = await post(place, result(messageId));
    expect(answer.status).toBe(200);
    expect(await answerIn(answer)).toBe('Blue it is.');
    expect(await answerIn(second)).toBe('Hello to you.');
    await expect
      .poll(() => shown(place))
      .toEqual({
        texts: ['Paint', 'Blue it is.', 'Hello', 'Hello to you.', 'Bye', 'Bye, then.'],
        queued: [],
      });
  },
);

test.each(places)(
  '%s refuses a message that comes while the page owes a result, and keeps nothing of it',
  async (_name, openPlace) => {
    const place = openPlace([asksColor, 'Blue it is.']);
    const firstText = await (await post(place, ask('Paint'))).text();
    expect((await post(place, ask('Hello'))).status).toBe(409);
    expect(await shown(place)).toEqual({ texts: ['Paint', ''], queued: [] });
    const messageId = /"messageId":"([^"]+)"/.exec(firstText)![1]!;
    expect(await answerIn(await post(place, result(messageId)))).toBe('Blue it is.');
  },
);

test.each(places)(
  '%s has a waiting message also after a restart, and then answers it',
  async (_name, openPlace) => {
    const dying = gate();
    const place = openPlace([{ wait: dying.passed }, 'One.', 'Two.']);
    // The dead process lives in this one, so the test ends its run.
    onTestFinished(async () => {
      vi.spyOn(console, 'error').mockImplementation(() => {});
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      dying.open();
    });
    const message = ask('Two?');
    const first = await post(place, ask('One?'));
    await expect.poll(() => place.model.requests.length).toBe(1);
    expect((await post(place, message, { queue: true })).status).toBe(202);
    await first.body!.cancel();
    const send = await place.restart();
    const restarted = { ...place, send };
    await expect.poll(async () => (await shown(restarted)).texts).toContain('Two?');
    await expect.poll(async () => (await shown(restarted)).queued).toEqual([]);
    await expect.poll(async () => (await shown(restarted)).texts.at(-1)).toMatch(/^(One|Two)\.$/);
    expect((await shown(restarted)).texts.filter((text) => text === 'Two?')).toHaveLength(1);
  },
);

test.each(places)(
  '%s keeps an accepted message whose turn fails before the log has it, and it can be sent again',
  async (_name, openPlace) => {
    const held = gate();
    let makes = 0;
    const onMake = (): void => {
      makes += 1;
      if (makes === 2) throw new AgentError('OVERLOADED', 'Later.');
    };
    const place = openPlace([{ wait: held.passed, text: 'One.' }, 'Three.', 'Two.'], onMake);
    const lost = ask('Two?');
    const first = await post(place, ask('One?'));
    const second = await post(place, lost);
    await post(place, ask('Three?'), { queue: true });
    held.open();
    await first.text();
    expect(await second.text()).toContain('"type":"error"');
    await expect
      .poll(() => shown(place))
      .toEqual({
        texts: ['One?', 'One.', 'Three?', 'Three.'],
        queued: [['Two?', 'failed', expect.any(String) as string]],
      });
    expect(await answerIn(await post(place, lost))).toBe('Two.');
    expect(await shown(place)).toEqual({
      texts: ['One?', 'One.', 'Three?', 'Three.', 'Two?', 'Two.'],
      queued: [],
    });
  },
);

test('a message that waits for a result does not hold up later ones after a failed deletion', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const held = gate();
  let failsToMake = false;
  const onMake = (): void => {
    if (failsToMake) throw new AgentError('OVERLOADED', 'Later.');
  };
  const asks = { ...(asksColor as object), wait: held.passed } as ScriptedReply;
  const place = objectPlace([asks], onMake);
  const first = await post(place, ask('Paint'));
  await post(place, ask('Hello'), { queue: true });
  held.open();
  await first.text();
  await expect
    .poll(async () => (await shown(place)).queued)
    .toEqual([['Hello', 'waiting', undefined]]);
  failsToMake = true;
  expect((await place.send(`/api/chat/${place.id}`, { method: 'DELETE' })).status).toBe(503);
  failsToMake = false;
  // The page still owes the result.
  expect((await post(place, ask('Bye'))).status).toBe(409);
});
