import { expect, test } from 'vitest';
import { summarizeHistory } from '@isoloop/core/context';
import { emulateTools } from '@isoloop/core/results';
import { type GenerateOptions, ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { byModel } from '@isoloop/core/selection';
import { arcReactor } from '@isoloop/presets';

type Wrong = readonly [generate: object, problem: string];

const wrongValues: readonly Wrong[] = [
  [{ temperature: 'hot' }, 'temperature must be a number of 0 or more; got a string.'],
  [{ temperature: -0.1 }, 'temperature must be a number of 0 or more; got -0.1.'],
  [{ maxTokens: -1 }, 'maxTokens must be a number of 0 or more; got -1.'],
  [{ topP: 3 }, 'topP must be a number from 0 to 1; got 3.'],
  [{ topP: Number.NaN }, 'topP must be a number from 0 to 1; got NaN.'],
  [{ seed: '7' }, 'seed must be a number; got a string.'],
  [{ seed: Number.NaN }, 'seed must be a number; got NaN.'],
  [{ stop: '' }, 'stop must be an array; got a string.'],
  [
    { toolChoice: 'any' },
    "toolChoice must be 'auto' or 'none' or 'required' or an object; got a string.",
  ],
  [{ responseSchema: 'x' }, 'responseSchema must be an object; got a string.'],
];

const noValues = [
  ['undefined', undefined],
  ['null', null],
] as const;

const agentWith = (generate: object, model = new ScriptedModel([])): ReActAgent =>
  new ReActAgent({ name: 'a', model, generate });

test.each(wrongValues)('a wrong setting is refused where it is set: %o', async (wrong, problem) => {
  const model = new ScriptedModel([]);
  const generate = wrong as GenerateOptions;
  const refused = (where: string): unknown =>
    expect.objectContaining({ code: 'CONFIGURATION', message: `${where}: generate: ${problem}` });
  expect(() => agentWith(wrong)).toThrow(refused('ReActAgent'));
  const use = [[{ name: 'preset', defaults: { generate } }]];
  expect(() => new ReActAgent({ name: 'a', model, use })).toThrow(refused('ReActAgent'));
  expect(() => emulateTools({ model, generate })).toThrow(refused('emulateTools()'));
  expect(() => byModel({ model, generate })).toThrow(refused('byModel()'));
  expect(() => summarizeHistory({ generate })).toThrow(refused('summarizeHistory()'));
  const call = { code: 'INVALID_INPUT', message: `call(): ${problem}` };
  await expect(agentWith({}).call('Hi', generate)).rejects.toMatchObject(call);
  expect(() => agentWith({}).stream('Hi', generate)).toThrow(expect.objectContaining(call));
});

test.for(noValues)(
  '%s removes the value of a preset, in the options of the agent',
  async ([, none]) => {
    const { agent, model } = scriptedAgent(['Hi', 'Hi'], {
      use: [arcReactor()],
      generate: { temperature: none, seed: 7 },
    });
    await agent.call('Hi');
    const [request] = model.requests;
    expect(request).toMatchObject({ maxTokens: 4096, seed: 7 });
    expect(request).not.toHaveProperty('temperature');
    // An agent call may set it again.
    await agent.call('Hi', { temperature: 0.5 });
    expect(model.requests[1]).toMatchObject({ temperature: 0.5, maxTokens: 4096, seed: 7 });
  },
);

test.for(noValues)(
  '%s removes the value of the agent or of a preset, in one call',
  async ([, none]) => {
    const { agent, model } = scriptedAgent(['Hi', 'Hi'], {
      use: [arcReactor()],
      generate: { seed: 7 },
    });
    await agent.call('Hi', { temperature: none, seed: none });
    expect(model.requests[0]).toMatchObject({ maxTokens: 4096 });
    expect(model.requests[0]).not.toHaveProperty('temperature');
    expect(model.requests[0]).not.toHaveProperty('seed');
    await agent.call('Hi');
    expect(model.requests[1]).toMatchObject({ temperature: 0.3, maxTokens: 4096, seed: 7 });
  },
);

test.for(noValues)('%s in a later preset removes the value of an earlier one', async ([, none]) => {
  const use = [arcReactor(), { name: 'mine', defaults: { generate: { temperature: none } } }];
  const { agent, model } = scriptedAgent(['Hi'], { use });
  await agent.call('Hi');
  expect(model.requests[0]).not.toHaveProperty('temperature');
});

test('without a value for `generate` as a whole, the values of the preset stay', async () => {
  const options = { use: [arcReactor()], generate: undefined } as object;
  const { agent, model } = scriptedAgent(['Hi'], options);
  await agent.call('Hi');
  expect(model.requests[0]).toMatchObject({ temperature: 0.3 });
});

test('a setting that does not exist is refused', async () => {
  const generate = { top_p: 1 } as GenerateOptions;
  const unknown = /has no option `top_p`\. It has: .*topP/;
  expect(() => agentWith(generate)).toThrow(unknown);
  expect(() => emulateTools({ model: new ScriptedModel([]), generate })).toThrow(unknown);
  await expect(agentWith({}).call('Hi', generate)).rejects.toThrow(/has no option `top_p`/);
});

test.each<Wrong>([
  [{ topP: 3 }, 'options: topP must be a number from 0 to 1; got 3.'],
  [{ top_p: 1 }, 'options has no option `top_p`.'],
])('a wrong setting of a hook fails the call before the request: %o', async (wrong, problem) => {
  const model = new ScriptedModel(['Hi']);
  const options = wrong as GenerateOptions;
  const use = [{ on: { 'pre-reasoning': (event: object) => ({ ...event, options }) as never } }];
  await expect(new ReActAgent({ name: 'a', model, use }).call('Hi')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { event: 'pre-reasoning', field: 'options' },
    cause: { message: expect.stringContaining(problem) },
  });
  expect(model.requests).toEqual([]);
});

test('every setting of the agent, of a call and of a hook reaches the model', async () => {
  const all: GenerateOptions = {
    toolChoice: 'auto',
    maxTokens: 5,
    temperature: 0,
    topP: 1,
    seed: -7,
    stop: ['END', '\n'],
    responseSchema: { type: 'object' },
    providerOptions: { user: 'ann' },
  };
  const model = new ScriptedModel(['1', '2', '3']);
  await agentWith(all, model).call('Hi');
  await agentWith({}, model).call('Hi', all);
  const agent = agentWith({}, model);
  agent.addHook({ on: { 'pre-reasoning': (event) => ({ ...event, options: all }) } });
  await agent.call('Hi');
  for (const request of model.requests) expect(request).toMatchObject(all);
  expect(model.requests).toHaveLength(3);
});
