// The model alone: openai() of Isoloop with a hand-written agent loop. What the contender `isoloop`
// costs in addition is the cost of the agent.
import { openai } from '@isoloop/core/openai';
import { memo } from '../lib/common.mjs';
import { params } from './floor.mjs';

export const label = 'openai() of @isoloop/core, own loop';

const tools = [params[0].function];

export async function run(sc, baseURL) {
  const model = memo(sc, () => openai({ baseURL, apiKey: 'x', model: sc.model }));
  const { signal } = new AbortController();
  const out = { chars: 0, deltas: 0, tools: 0 };
  // The messages have neither `id` nor `createdAt`, because only memories need them.
  const messages = [
    { role: 'system', content: [{ type: 'text', text: sc.system }] },
    { role: 'user', content: [{ type: 'text', text: sc.prompt }] },
  ];
  for (let i = 0; i < sc.maxTurns; i++) {
    const calls = [];
    let text = '';
    for await (const deltas of model.stream({ messages, tools }, { signal })) {
      for (const delta of deltas) {
        if (delta.type === 'text') {
          text += delta.delta;
          out.chars += delta.delta.length;
          out.deltas++;
        } else if (delta.type === 'tool-input') {
          const { id, name } = delta;
          const call = (calls[delta.index] ??= { id, name, json: '' });
          call.json += delta.delta;
        }
      }
    }
    if (!calls.length) break;
    const uses = calls.map(({ id, name, json }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(json),
    }));
    const content = text ? [{ type: 'text', text }, ...uses] : uses;
    messages.push({ role: 'assistant', content });
    const outputs = await Promise.all(uses.map(async ({ input }) => sc.tool(input)));
    outputs.forEach((output, k) => {
      const { id, name } = uses[k];
      const result = { type: 'tool_result', toolUseId: id, name, output, state: 'success' };
      messages.push({ role: 'tool', content: [result] });
      out.tools++;
    });
  }
  return out;
}
