// Isoloop, read event by event. An agent has one conversation, so every run builds a new agent. An
// adapter does the same for each session.
import { ReActAgent, tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { memo } from '../lib/common.mjs';
import { params } from './floor.mjs';

export const label = '@isoloop/core, for await over events';

export function makeAgent(sc, baseURL) {
  const model = memo(sc, () => openai({ baseURL, apiKey: 'x', model: sc.model }));
  const { name, description, parameters } = params[0].function;
  const lookup = tool({ name, description, input: parameters, execute: (input) => sc.tool(input) });
  return new ReActAgent({
    name: 'bench',
    systemPrompt: sc.system,
    model,
    tools: [lookup],
    limits: { iterations: sc.maxTurns },
  });
}

export function count(out, event) {
  if (event.type === 'reasoning-chunk') {
    out.chars += event.delta.length;
    out.deltas++;
  } else if (event.type === 'post-acting') out.tools++;
}

export async function run(sc, baseURL) {
  const out = { chars: 0, deltas: 0, tools: 0 };
  for await (const event of makeAgent(sc, baseURL).stream(sc.prompt)) count(out, event);
  return out;
}
