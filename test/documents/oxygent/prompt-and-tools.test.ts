import { ReActAgent, tool, userMessage } from '@isoloop/core';
import { oxygent } from '@isoloop/presets';
import { callVariables } from '@isoloop/core/prompt';
import { ScriptedModel } from '@isoloop/core/testing';
import { byWords, selectTools } from '@isoloop/core/selection';
import { provide } from '@isoloop/core/tool';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { systemOf as systemTextsOf } from '../test-support.ts';
import { calls, echoes, observed, said, setUp } from './test-support.ts';

function systemOf(model: ScriptedModel, request: number): string {
  return systemTextsOf(model.requests[request]).join('\n');
}

describe('prompt and tools', () => {
  test('the prompt gets the question after hooks, and the arguments of the agent call', async () => {
    const { model, agent } = setUp([echoes('x'), 'Done.'], {
      systemPrompt: 'Solve ${query} for ${user}. ${additional_prompt} ${unknown} ${user}',
    });
    agent.addHook({ on: { 'pre-call': (event) => ({ ...event, input: [userMessage('変')] }) } });
    await agent.call('Original', {
      toolContext: [provide(callVariables, { user: '${query}$&', additional_prompt: 'Be brief.' })],
    });
    const line = 'Solve 変 for ${query}$&. Be brief. ${unknown} ${query}$&';
    expect(systemOf(model, 0)).toContain(line);
    expect(systemOf(model, 1)).toContain(line);
  });

  const mail = tool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({}),
    execute: () => 'Sent.',
  });
  const weather = tool({
    name: 'weather',
    description: 'Weather of a city.',
    input: z.object({}),
    execute: () => 'Sunny.',
  });

  test('the best tools for the question are described, and a hidden one does not run', async () => {
    const model = new ScriptedModel([calls('weather'), calls('send_mail'), 'Done.']);
    const agent = new ReActAgent({
      name: 'oxy',
      model,
      tools: [mail, weather],
      use: [selectTools({ by: byWords({ maxTools: 1, evenWhenFew: true }) }), oxygent()],
    });
    await agent.call('Send a mail.');
    expect(systemOf(model, 0)).toContain('Sends a mail.');
    expect(systemOf(model, 0)).not.toContain('Weather of a city.');
    expect(said(model, 1).at(-1)).not.toContain('Sunny.');
    expect(said(model, 2).at(-1)).toBe(`user: ${observed('send_mail', 'Sent.')}`);
  });

  test('tools are chosen by words of any language', async () => {
    const [天気, 手紙] = [
      tool({
        name: 'weather',
        description: '天気を調べる',
        input: z.object({}),
        execute: () => '',
      }),
      tool({ name: 'mail', description: '手紙を送る', input: z.object({}), execute: () => '' }),
    ];
    const model = new ScriptedModel(['はい。']);
    const use = [selectTools({ by: byWords({ maxTools: 1, evenWhenFew: true }) }), oxygent()];
    await new ReActAgent({ name: 'oxy', model, tools: [天気, 手紙], use }).call('東京の天気は?');
    expect(systemOf(model, 0)).toContain('天気を調べる');
    expect(systemOf(model, 0)).not.toContain('手紙を送る');
  });

  test('arguments that the program sets are hidden from the model in every round', async () => {
    const find = tool({
      name: 'find',
      description: 'Finds.',
      input: z.object({ word: z.string(), tenant: z.string() }),
      preset: { tenant: 'acme' },
      execute: ({ word, tenant }) => `${word} of ${tenant.length}`,
    });
    const { model, agent } = setUp([calls('find', { word: 'tea' }), 'Done.'], { tools: [find] });
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('find', 'tea of 4')}`);
    expect(JSON.stringify(model.requests)).not.toMatch(/tenant|acme/);
  });

  test('only the tools that the agent call allows are described', async () => {
    const { model, agent } = setUp(['Done.'], {
      tools: [mail, weather],
      systemPrompt: 'Tools: ${tools_description}!',
    });
    await agent.call('Go.', { allowTools: ['weather'] });
    expect(systemOf(model, 0)).toContain('Weather of a city.');
    expect(systemOf(model, 0)).not.toContain('Sends a mail.');
  });
});
