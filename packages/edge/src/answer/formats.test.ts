import { expect, test } from 'vitest';
import { turnFormat } from './formats.ts';

test('only streams that a client can join again have ids', () => {
  const ids = (['ui', 'events', 'object'] as const).map(
    (kind) => turnFormat({}, { kind, events: false }).eventIds,
  );
  expect(ids).toEqual(['queued', 'all', undefined]);
});

test("an endpoint without OpenAI's API refuses its formats before a turn begins", () => {
  const requested = { kind: 'completion', stream: false } as const;
  expect(() => turnFormat({}, requested)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining('openAi') }),
  );
});
