import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region prompt-variables
import { ReActAgent, textOf } from '@isoloop/core';
import { promptVariables, renderTemplate, type TemplateVariables } from '@isoloop/core/prompt';
import { contextToken, provide } from '@isoloop/core/tool';
// #endregion

test('promptVariables() fills a system prompt', async () => {
  const model = new ScriptedModel(['Hello, Ann.']);

  // #region prompt-variables
  const perCall = contextToken<TemplateVariables>('prompt variables');
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    systemPrompt:
      'You work for ${company}. Today is ${day}. The user is ${user}. Write prices as ${price}.',
    use: [
      promptVariables({ variables: () => ({ company: 'Rail', day: 'Monday' }), token: perCall }),
    ],
  });
  await agent.call('Hello', { toolContext: [provide(perCall, { user: 'Ann ${company}' })] }); // placeholders in values stay as they are

  const text = renderTemplate(
    'Hello {name}, {"a": 1}',
    { name: 'Ann' },
    { form: '{}', missing: 'fail' },
  );
  console.assert(text === 'Hello Ann, {"a": 1}');
  // #endregion

  const prompt =
    'You work for Rail. Today is Monday. The user is Ann ${company}. Write prices as ${price}.';
  expect(model.requests[0]!.messages.map(textOf)).toEqual([prompt, 'Hello']);
  expect(text).toBe('Hello Ann, {"a": 1}');
});
