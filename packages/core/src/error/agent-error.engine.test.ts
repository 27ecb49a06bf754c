import { expect, test } from 'vitest';
import { AgentError, errorText } from './agent-error.ts';

test('an AgentError keeps code and details in a structured clone of its JSON, and the JSON does not contain its cause', () => {
  const error = new AgentError('MODEL_RATE_LIMITED', 'slow down', {
    retryable: true,
    details: { status: 429 },
    cause: new Error('secret'),
  });
  const data = structuredClone(error.toJSON());
  expect(JSON.stringify(data)).not.toContain('secret');
  const back = AgentError.fromJSON(data);
  expect(back).toBeInstanceOf(AgentError);
  expect(back).toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    message: 'slow down',
    retryable: true,
    details: { status: 429 },
  });
});

test('AgentError.is() recognizes an error of another copy of the library, and no other values', () => {
  expect(
    AgentError.is({ name: 'AgentError', code: 'ABORTED', message: '', retryable: false }),
  ).toBe(true);
  for (const value of [new Error('x'), { code: 'ABORTED' }, 'AgentError', null, undefined])
    expect(AgentError.is(value)).toBe(false);
});

test('AgentError.from() turns any thrown value into an AgentError whose cause is that value', () => {
  const cause = new TypeError('bad');
  expect(AgentError.from(cause, 'TOOL_ERROR')).toMatchObject({
    code: 'TOOL_ERROR',
    message: 'bad',
    cause,
  });
  expect(AgentError.from('text').message).toBe('text');
  const own = new AgentError('ABORTED', 'stop');
  expect(AgentError.from(own, 'INTERNAL')).toBe(own);
  const data = AgentError.from(structuredClone(own.toJSON()));
  expect(data).toBeInstanceOf(AgentError);
  expect(data.toJSON()).toEqual(own.toJSON());
  expect(errorText(new RangeError())).toBe('RangeError');
});
