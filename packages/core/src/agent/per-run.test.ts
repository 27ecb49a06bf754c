import { expect, test } from 'vitest';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { look } from '@test/support/plain-tools.ts';
import { Agent } from './agent.ts';
import type { Middleware } from './middleware.ts';
import { perRun, perAgent } from './per-run.ts';
import type { RunInfo } from '../model/chat-model.ts';

test('a run has one value from its first event to its last one, and no other run has it', async () => {
  let begun = 0;
  const seenIn = perRun(({ runId }) => {
    begun += 1;
    return { runId, events: new Set<string>() };
  });
  const seen: string[] = [];
  const middleware: Middleware = {
    on: {
      '*': ({ type }, run) => void seenIn(run).events.add(type),
      'run-end': ({ runId }, run) => {
        const value = seenIn(run);
        seen.push(`${value.runId === runId} ${[...value.events].join(' ')}`);
      },
    },
  };
  const agents = ['one', 'two'].map(
    (reply) => new Agent({ name: reply, model: new ScriptedModel([reply]), use: [middleware] }),
  );
  await Promise.all(agents.map((agent) => agent.call('go')));
  const events = 'run-start pre-call pre-reasoning reasoning-chunk post-reasoning post-call';
  expect(seen).toEqual([`true ${events}`, `true ${events}`]);
  expect(begun).toBe(2);
});

test('wrappers of the model and of tools get the value of the run, and `begin` gets the same object', async () => {
  const seenIn = perRun((run) => ({ run, places: [] as string[] }));
  let asked: unknown;
  const middleware: Middleware = {
    wrapRun: async (input, next, run) => {
      const value = seenIn(run);
      const result = await next(input);
      expect(value.run).toBe(run);
      expect(value.places).toEqual(['model', 'tool', 'model']);
      return result;
    },
    wrapModel: (next) => ({
      ...next,
      stream(request, context) {
        asked = context.run;
        seenIn(context.run!).places.push('model');
        return next.stream(request, context);
      },
    }),
    wrapTool: (call, next, run) => {
      seenIn(run).places.push('tool');
      return next(call);
    },
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  await agent.call('go');
  const { runId, sessionId } = asked as RunInfo;
  expect(JSON.parse(JSON.stringify(asked))).toEqual({ runId, sessionId, agentPath: ['a'] });
  expect(() => seenIn({ runId, sessionId, agentPath: ['a'] })).toThrow('not a copy');
});

test('the event of a hook is not the run, and the error says which argument is', async () => {
  const seenIn = perRun(() => ({}));
  const middleware: Middleware = {
    on: { 'run-end': (event) => void seenIn(event) },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['One.']), use: [middleware] });
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: 'Pass the `run` that the wrapper or hook got as its last argument, not a copy of it.',
  });
});

test('`wrapModel` is called once per agent, and once more for each agent call with `use`', async () => {
  let wrapped = 0;
  const keyOf = perAgent(() => ({}));
  const keys = new Set<object>();
  const counting: Middleware = {
    wrapModel(next) {
      wrapped += 1;
      return next;
    },
    wrapRun: (input, next, run) => {
      keys.add(keyOf(run));
      return next(input);
    },
  };
  const model = new ScriptedModel(['one', 'two', 'three']);
  const agent = new Agent({ name: 'a', model, use: [counting] });
  await agent.call('one');
  await agent.call('two');
  expect(wrapped).toBe(1);
  await agent.call('three', { use: [{ name: 'other' }] });
  expect(wrapped).toBe(2);
  expect(keys.size).toBe(1);
});
