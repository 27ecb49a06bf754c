import { expect, test, vi } from 'vitest';
import { twoReplies } from './ai-sdk-replies.ts';
// #region after
import { ReActAgent, tool } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import * as z from 'zod';
// #endregion

test('the same program with Isoloop calls its tool and answers, and knows the earlier question', async () => {
  const model = twoReplies();
  const write = vi.fn<(text: string) => void>();

  // #region after
  const agent = new ReActAgent({
    name: 'assistant',
    model: fromAiSdk(model),
    systemPrompt: 'Answer briefly.',
    tools: [
      tool({
        name: 'add',
        description: 'Adds two numbers.',
        input: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }) => a + b,
      }),
    ],
    limits: { iterations: 10 }, // the default
  });

  for await (const event of agent.stream('What is 2 + 40?'))
    if (event.type === 'reasoning-chunk' && event.kind === 'text') write(event.delta);
  // #endregion

  expect(write.mock.calls.join('')).toBe('It is 42.');
  await agent.call('And now?');
  expect(JSON.stringify(model.doStreamCalls.at(-1)!.prompt)).toContain('What is 2 + 40?');
});
