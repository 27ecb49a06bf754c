import { expect, test } from 'vitest';
import { missingRefusals } from '@test/exports/unknown-options.ts';
import * as openAiApi from '../index.ts';

test('openAiRoutes() refuses an option that it does not have', async () => {
  const entry = { exports: openAiApi, calls: { openAiRoutes: openAiApi.openAiRoutes } };
  expect(await missingRefusals(entry)).toEqual([]);
});
