import { expect, test } from 'vitest';
import { failureText, restartMark } from '../../output/object/object-format.ts';
import { objectsIn } from './objects-in.ts';

/** Reads a body that arrives in these pieces and then ends, or breaks with an error. */
async function read(pieces: readonly string[], error?: Error) {
  const encoder = new TextEncoder();
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = left.shift();
      if (piece !== undefined) controller.enqueue(encoder.encode(piece));
      else if (error) controller.error(error);
      else controller.close();
    },
  });
  const objects = objectsIn(body);
  for (;;) {
    const { done, value } = await objects.next();
    if (done) return value;
  }
}

const object = '{"city":"Rome"}';
const failure = failureText({ code: 'MODEL_SERVER', message: 'The model is "busy": 東京.' });
const lost = {
  name: 'AgentError',
  code: 'MODEL_UNREACHABLE',
  message: 'The connection to the endpoint was lost.',
};

test.each([
  ['ends', undefined],
  ['breaks', new TypeError('network error')],
])('a body that %s at any place before its end is a lost connection', async (_how, error) => {
  const body = `{"city":"Par${restartMark}{"city":${failure}`;
  for (let length = 0; length < body.length; length += 1)
    await expect(read([body.slice(0, length)], error), `${length}`).rejects.toMatchObject(lost);
  const whole = read([...body], error);
  await expect(whole).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('an object whose failure is incomplete is not a valid object', async () => {
  expect(await read([object])).toEqual({ city: 'Rome' });
  await expect(read([object + failure.slice(0, 9)])).rejects.toMatchObject(lost);
  await expect(read([object + failure])).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('an object that somebody has stopped is undefined', async () => {
  const stopped = failureText({ code: 'ABORTED', message: 'Stopped.' });
  expect(await read(['{"city":', stopped.slice(0, 4), stopped.slice(4)])).toBeUndefined();
});
