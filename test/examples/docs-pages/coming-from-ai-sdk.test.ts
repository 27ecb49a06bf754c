import { expect, test, vi } from 'vitest';
import { twoReplies } from './ai-sdk-replies.ts';
// #region before
import { isStepCount, tool, ToolLoopAgent } from 'ai';
import * as z from 'zod';
// #endregion

test('the program of AI SDK calls its tool and answers, and does not know the earlier question', async () => {
  const model = twoReplies();
  const write = vi.fn<(text: string) => void>();

  // #region before
  const agent = new ToolLoopAgent({
    model,
    instructions: 'Answer briefly.',
    tools: {
      add: tool({
        description: 'Adds two numbers.',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async ({ a, b }) => a + b,
      }),
    },
    stopWhen: isStepCount(10),
  });

  const { textStream } = await agent.stream({ prompt: 'What is 2 + 40?' });
  for await (const text of textStream) write(text);
  // #endregion

  expect(write.mock.calls.join('')).toBe('It is 42.');
  const again = await agent.stream({ prompt: 'And now?' });
  for await (const text of again.textStream) write(text);
  expect(JSON.stringify(model.doStreamCalls.at(-1)!.prompt)).not.toContain('What is 2 + 40?');
});
