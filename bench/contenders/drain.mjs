// Below the floor: the same requests, the answer's bytes are read and dropped, nothing is parsed.
// It shows what fetch itself costs in this runtime. It knows the script, so it is no contender.
import { args, callId, expected } from '../lib/scenarios.mjs';
import { params } from './floor.mjs';
export const label = 'drain (fetch only)';
export async function run(sc, baseURL) {
  const { script: sp } = sc;
  const messages = [
    { role: 'system', content: sc.system },
    { role: 'user', content: sc.prompt },
  ];
  for (let turn = 0; ; turn++) {
    const res = await fetch(baseURL + '/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
      body: JSON.stringify({ model: sc.model, messages, tools: params, stream: true, stream_options: { include_usage: true } }),
    });
    const reader = res.body.getReader();
    while (!(await reader.read()).done);
    if (turn >= sp.turns) return expected(sc.name);
    const calls = Array.from({ length: sp.calls }, (_, i) => ({
      id: callId(turn, i),
      type: 'function',
      function: { name: 'lookup', arguments: args(sp, turn, i) },
    }));
    messages.push({ role: 'assistant', content: null, tool_calls: calls });
    for (const c of calls) messages.push({ role: 'tool', tool_call_id: c.id, content: sc.tool({ query: '', n: 0 }) });
  }
}
