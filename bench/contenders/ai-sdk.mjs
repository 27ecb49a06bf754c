// Vercel AI SDK 7: ToolLoopAgent over @ai-sdk/openai's chat-completions model.
import { createOpenAI } from '@ai-sdk/openai';
import { isStepCount, tool, ToolLoopAgent } from 'ai';
import * as z from 'zod';
import { memo } from '../lib/common.mjs';

export const label = 'ai 7 ToolLoopAgent + @ai-sdk/openai';

export async function run(sc, baseURL) {
  const agent = memo(sc, () =>
    makeAgent(sc, createOpenAI({ baseURL, apiKey: 'x' }).chat(sc.model)),
  );
  const { stream } = await agent.stream({ prompt: sc.prompt });
  const out = { chars: 0, deltas: 0, tools: 0 };
  for await (const part of stream) {
    if (part.type === 'text-delta') {
      out.chars += part.text.length;
      out.deltas++;
    } else if (part.type === 'tool-result') out.tools++;
    else if (part.type === 'error') throw part.error;
  }
  return out;
}

function makeAgent(sc, model) {
  const lookup = tool({
    description: 'Looks a thing up and returns what is known about it.',
    inputSchema: z.object({ query: z.string(), n: z.number() }),
    execute: async (input) => sc.tool(input),
  });
  return new ToolLoopAgent({
    model,
    instructions: sc.system,
    tools: { lookup },
    stopWhen: isStepCount(sc.maxTurns),
  });
}
