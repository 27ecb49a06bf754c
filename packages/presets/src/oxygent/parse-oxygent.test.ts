import { expect, test } from 'vitest';
import goldenText from '@test/fixtures/golden/oxygent-parse.json?raw';
import { parseOxygent } from './parse-oxygent.ts';

interface Golden {
  readonly input: string;
  readonly state: 'ANSWER' | 'TOOL_CALL' | 'ERROR_PARSE';
  readonly output?:
    | string
    | {
        readonly tool_name: string;
        readonly arguments: object;
        readonly think?: string;
        readonly trust_mode?: 1;
      };
}

const golden = JSON.parse(goldenText) as readonly Golden[];

test.each(golden)('parseOxygent() reads $input as OxyGent does', ({ input, state, output }) => {
  const parsed = parseOxygent(input);
  if (state === 'ERROR_PARSE')
    expect(parsed).toEqual({ type: 'invalid', message: expect.stringMatching(/\S/) });
  else if (typeof output !== 'object') expect(parsed).toEqual({ type: 'answer', text: output });
  else {
    const { tool_name: name, arguments: given, think, trust_mode: trust } = output;
    expect(parsed).toEqual({
      type: 'calls',
      calls: [
        { name, arguments: given, ...(think && { think }), ...(trust && { returnDirect: true }) },
      ],
    });
  }
});

test("parseOxygent() reads Python's special numbers, but only as values", () => {
  const reply =
    '{"tool_name":"a","arguments":{"x":NaN,"y":[-Infinity,Infinity],"z":"NaN, \\"Infinity","number:":"number:NaN"}}';
  expect(parseOxygent(reply)).toEqual({
    type: 'calls',
    calls: [
      {
        name: 'a',
        arguments: {
          x: null,
          y: [null, null],
          z: 'NaN, "Infinity',
          'number:': 'number:NaN',
        },
      },
    ],
  });
  expect(parseOxygent('{"a":NaN}')).toMatchObject({
    type: 'invalid',
    message: expect.stringContaining('tool_name'),
  });
  for (const wrong of ['-NaN', '1Infinity', '+Infinity', 'NaNs']) {
    expect(parseOxygent(`{"tool_name":"a","arguments":${wrong}}`), wrong).toMatchObject({
      type: 'invalid',
      message: expect.stringContaining('cannot be read'),
    });
  }
  expect(parseOxygent('{NaN:1,"x":NaN}')).toMatchObject({ type: 'answer' });
});

test('reads the text after the last end tag of thinking, and removes the same white space as Python', () => {
  expect(parseOxygent('a</think>b</think>\u001f\u0085 c \ufeff\n')).toEqual({
    type: 'answer',
    text: 'c \ufeff',
  });
  expect(parseOxygent(' c ')).toEqual({ type: 'answer', text: ' c ' });
  expect(parseOxygent('<think>x</think>')).toMatchObject({ type: 'invalid' });
});

test('reads calls that crash OxyGent: missing arguments, or a name of another type', () => {
  expect(parseOxygent('{"tool_name":"a"}')).toEqual({ type: 'calls', calls: [{ name: 'a' }] });
  expect(parseOxygent('{"tool_name":null,"arguments":1}')).toEqual({
    type: 'calls',
    calls: [{ name: 'null', arguments: 1 }],
  });
});
