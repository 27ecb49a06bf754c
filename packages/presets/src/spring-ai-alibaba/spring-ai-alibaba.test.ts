import { expect, test } from 'vitest';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { tool, textOf, ReActAgent } from '@isoloop/core';
import type { TemplateVariables, PromptCall } from '@isoloop/core/prompt';
import { modelRequestLimit } from '@isoloop/core/limits';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { springAiAlibaba, type SpringAiAlibabaOptions } from './spring-ai-alibaba.ts';
import { replaceKey, stateKeys } from '@isoloop/core/state';

/** Creates a tool and a function that returns how many of its calls ran at the same time. */
function counted() {
  let running = 0;
  let most = 0;
  const work = tool({
    name: 'work',
    description: '',
    input: { type: 'object' },
    async execute() {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      running -= 1;
      return 'done';
    },
  });
  return { work, most: () => most };
}

const calls = (count: number): ScriptedReply => ({
  toolCalls: Array.from({ length: count }, () => ({ name: 'work' })),
});

test.for([
  [false, 1],
  [true, 5],
] as const)(
  'with parallelToolExecution: %s, at most %i tool calls run at the same time',
  async ([parallelToolExecution, most]) => {
    const { work, most: seen } = counted();
    const model = new ScriptedModel([calls(8), 'Done.']);
    await new ReActAgent({
      name: 'a',
      model,
      tools: [work],
      use: [springAiAlibaba({ parallelToolExecution })],
    }).call('go');
    expect(seen()).toBe(most);
  },
);

test('springAiAlibaba() has no limit of iterations, and modelRequestLimit() adds a limit', async () => {
  const { work } = counted();
  const rounds = Array.from({ length: 40 }, () => calls(1));
  const { agent } = scriptedAgent([...rounds, 'Done.'], {
    tools: [work],
    use: [springAiAlibaba()],
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', iterations: 41 });
  const limited = { use: [springAiAlibaba(), modelRequestLimit({ run: 15 })] };
  const model = new ScriptedModel(rounds);
  expect(
    (await new ReActAgent({ name: 'a', model, tools: [work], ...limited }).call('go')).reason,
  ).toBe('limit');
  expect(model.requests).toHaveLength(15);
});

test('with springAiAlibaba(), a tool’s result can be the answer', async () => {
  const { work } = counted();
  const direct = { ...work, returnDirect: true };
  const { agent } = scriptedAgent([calls(1)], { tools: [direct], use: [springAiAlibaba()] });
  expect(await agent.call('go')).toMatchObject({ reason: 'return-direct', text: 'done' });
});

test('with springAiAlibaba(), an unknown tool is an error result, and a model that fails fails the call', async () => {
  const { agent, model } = scriptedAgent([calls(1), { error: new Error('down') }], {
    use: [springAiAlibaba()],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'INTERNAL' });
  expect(JSON.stringify(model.requests[1]!.messages)).toContain('Tool not found: work');
});

test('the `hooks` of springAiAlibaba() run in order before the model and in reverse order after it', async () => {
  const ran: string[] = [];
  const hooks = ['a', 'b'].map((name) => ({
    name,
    beforeModel: () => void ran.push(`before ${name}`),
    afterModel: () => void ran.push(`after ${name}`),
  }));
  await new ReActAgent({
    name: 'a',
    model: new ScriptedModel(['Done.']),
    use: [springAiAlibaba({ hooks })],
  }).call('go');
  expect(ran).toEqual(['before a', 'before b', 'after b', 'after a']);
  expect(() => springAiAlibaba({ hooks: [...hooks, ...hooks] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
  expect(() => springAiAlibaba({ parallelToolExecution: 5 as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
});

test('the system prompt is a template for the input, the session’s values and variables, and is rendered once', async () => {
  const state = stateKeys({ city: replaceKey('Bern'), who: replaceKey('nobody') });
  const prompt = 'A {who} in {city} asks: {input} {"a": {none}}';
  const prompts = async (options: SpringAiAlibabaOptions): Promise<string[]> => {
    const { agent, model } = scriptedAgent(['One.', 'Two.'], {
      systemPrompt: prompt,
      use: [springAiAlibaba(options)],
    });
    await agent.call('Hi {city} ${who}');
    if (options.state) state.of(agent).write({ city: '{who}' });
    await agent.call('And?');
    return model.requests.map(({ messages }) => textOf(messages[0]!));
  };
  expect(await prompts({})).toEqual([
    'A {who} in {city} asks: Hi {city} ${who} {"a": {none}}',
    'A {who} in {city} asks: And? {"a": {none}}',
  ]);
  expect(await prompts({ state, variables: { who: 'guest' } })).toEqual([
    'A guest in Bern asks: Hi {city} ${who} {"a": {none}}',
    'A guest in {who} asks: And? {"a": {none}}',
  ]);
  const variables = ({ input }: PromptCall): TemplateVariables => ({
    who: textOf(input[0]!).length,
    input: 'nothing',
  });
  expect((await prompts({ variables }))[1]).toBe('A 4 in {city} asks: nothing {"a": {none}}');
});

test.each([{ state: {} }, { variables: 'x' }])(
  'springAiAlibaba() rejects the options %o',
  (options) => {
    expect(() => springAiAlibaba(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
    );
  },
);
