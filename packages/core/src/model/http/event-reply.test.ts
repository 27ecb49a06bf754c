import { AgentError } from '@isoloop/core';
import { expect, test } from 'vitest';
import { readReply } from '@test/support/malformed-chunks.ts';
import type { ReplyDecoder } from '../formatter/formatter.ts';
import { ResponsesDecoder } from '../responses/responses-decoder.ts';

const eventStream = 'text/event-stream';
const chunk = '{"text":"Hi"}';

const throwError = (error: unknown) => (): never => {
  throw error;
};

/** Creates a decoder with methods that throw. */
const broken = (methods: Partial<ReplyDecoder>): ReplyDecoder => ({
  finishReason: '',
  decode: (_chunk, deltas) => void deltas.push({ type: 'text', id: 't', delta: 'Hi' }),
  end: () => ({ type: 'finish', reason: 'stop' }),
  ...methods,
});

const bodies = [
  ['an event', `data: ${chunk}\n\ndata: [DONE]\n\n`, eventStream],
  ['a last event without its blank line', `data: ${chunk}`, eventStream],
  ['a reply in one piece', chunk, 'application/json'],
] as const;

test.each(bodies)(
  'the error that a decoder throws about %s is the error of the reply',
  async (_what, body, type) => {
    const details = { providerCode: 'late' };
    const thrown = new AgentError('MODEL_SERVER', 'Later.', { retryable: true, details });
    const { error } = await readReply(broken({ decode: throwError(thrown) }), body, type);
    expect(error?.toJSON()).toEqual(thrown.toJSON());
  },
);

test.each(bodies)(
  'an exception of a decoder about %s stays visible in the stack of the error',
  async (_what, body, type) => {
    const exception = new TypeError('calls.map is not a function');
    const { error } = await readReply(broken({ decode: throwError(exception) }), body, type);
    expect(error).toMatchObject({ name: 'AgentError', code: 'MODEL_BAD_RESPONSE' });
    expect(error?.message).toContain(chunk);
    expect(error?.stack).toContain(`Caused by: ${exception.stack}`);
  },
);

test.each(['flush', 'end'] as const)(
  'an exception of a decoder in %s() is not a lost connection',
  async (method) => {
    const exception = new TypeError('usage is undefined');
    const decoder = broken({ [method]: throwError(exception) });
    const { deltas, error } = await readReply(decoder, bodies[0][1], eventStream);
    expect(deltas).toEqual([{ type: 'text', id: 't', delta: 'Hi' }]);
    expect(error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: false });
    expect(error?.stack).toContain(`Caused by: ${exception.stack}`);
  },
);

test.each(['queued', 'in_progress'])(
  'a response that is %s says so, as an event and in one piece',
  async (status) => {
    const response = { object: 'response', status };
    const event = JSON.stringify({ type: 'response.completed', response });
    const replies = [
      await readReply(new ResponsesDecoder('host'), `data: ${event}\n\n`, eventStream),
      await readReply(new ResponsesDecoder('host'), JSON.stringify(response), 'application/json'),
    ];
    for (const { error } of replies) {
      expect(error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: false });
      expect(error?.message).toBe(
        `The response has not ended, its status is "${status}": ${JSON.stringify(response)}`,
      );
    }
  },
);
