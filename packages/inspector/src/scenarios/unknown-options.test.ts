import { expect, test } from 'vitest';
import { missingRefusals, type Wrong } from '@test/exports/unknown-options.ts';
import * as inspector from '../index.ts';

const connected = new EventTarget() as Worker;

test('each function refuses an option that it does not have', async () => {
  const refusal = /has no option `misspelled`|, not misspelled\./;
  const calls = {
    endpointSource: (wrong: Wrong) => inspector.endpointSource('/api/chat', wrong),
    workerSource: (wrong: Wrong) => inspector.workerSource(connected, wrong),
  };
  const others = { data: 'defineInspector' };
  expect(await missingRefusals({ exports: inspector, calls, others }, refusal)).toEqual([]);
});
