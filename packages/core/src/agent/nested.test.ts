import { expect, test } from 'vitest';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import type { Middleware } from './middleware.ts';
import { nestedWraps } from './nested.ts';

test('nested wrappers are one wrapper, the first outermost, and each gets the run', async () => {
  const seen: string[] = [];
  const noted =
    (name: string): NonNullable<Middleware['wrapRun']> =>
    async (input, next, run) => {
      seen.push(`${name} ${run.runId.length > 0} ${typeof run.log.load}`);
      const result = await next(input);
      seen.push(name);
      return { ...result, text: `${name}(${result.text})` };
    };
  const wrapRun = nestedWraps(noted('a'), noted('b'));
  const model = new ScriptedModel(['hi']);
  const agent = new Agent({ name: 'one', model, use: [{ wrapRun }] });
  expect((await agent.call('go')).text).toBe('a(b(hi))');
  expect(seen).toEqual(['a true function', 'b true function', 'b', 'a']);
});
