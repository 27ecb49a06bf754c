// The kernel alone: `Agent` from `@isoloop/core/agent`, read event by event.
import { tool } from '@isoloop/core';
import { Agent } from '@isoloop/core/agent';
import { openai } from '@isoloop/core/openai';
import { memo } from '../lib/common.mjs';
import { params } from './floor.mjs';
import { count } from './isoloop.mjs';

export const label = 'Agent of @isoloop/core/agent, for await over events';

export async function run(sc, baseURL) {
  const model = memo(sc, () => openai({ baseURL, apiKey: 'x', model: sc.model }));
  const { name, description, parameters } = params[0].function;
  const lookup = tool({ name, description, input: parameters, execute: (input) => sc.tool(input) });
  const agent = new Agent({
    name: 'bench',
    systemPrompt: sc.system,
    model,
    tools: [lookup],
    limits: { iterations: sc.maxTurns },
  });
  const out = { chars: 0, deltas: 0, tools: 0 };
  for await (const event of agent.stream(sc.prompt)) count(out, event);
  return out;
}
