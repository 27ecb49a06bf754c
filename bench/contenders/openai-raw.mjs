// The `openai` client with a hand-written agent loop.
import OpenAI from 'openai';
import { memo } from '../lib/common.mjs';
import { params } from './floor.mjs';
export const label = 'openai client, own loop';
export async function run(sc, baseURL) {
  const client = memo(
    sc,
    () => new OpenAI({ baseURL, apiKey: 'x', dangerouslyAllowBrowser: true }),
  );
  const out = { chars: 0, deltas: 0, tools: 0 };
  const messages = [
    { role: 'system', content: sc.system },
    { role: 'user', content: sc.prompt },
  ];
  for (let i = 0; i < sc.maxTurns; i++) {
    const stream = await client.chat.completions.create({
      model: sc.model,
      messages,
      tools: params,
      stream: true,
      stream_options: { include_usage: true },
    });
    const calls = [];
    let content = '';
    for await (const ev of stream) {
      const d = ev.choices[0]?.delta;
      if (!d) continue;
      if (d.content) {
        content += d.content;
        out.chars += d.content.length;
        out.deltas++;
      }
      if (d.tool_calls)
        for (const t of d.tool_calls) {
          const c = (calls[t.index] ??= {
            id: t.id,
            type: 'function',
            function: { name: t.function.name, arguments: '' },
          });
          c.function.arguments += t.function.arguments;
        }
    }
    if (!calls.length) break;
    messages.push({ role: 'assistant', content: content || null, tool_calls: calls });
    const results = await Promise.all(
      calls.map(async (c) => sc.tool(JSON.parse(c.function.arguments))),
    );
    results.forEach((result, k) => {
      messages.push({ role: 'tool', tool_call_id: calls[k].id, content: result });
      out.tools++;
    });
  }
  return out;
}
