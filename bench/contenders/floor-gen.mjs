// The hand-written loop of floor.mjs as an async generator that yields one event per delta, because
// a library has such an API.
import { params } from './floor.mjs';
export const label = 'floor as async generator';
async function* sse(url, body) {
  const res = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
    body,
  });
  if (!res.ok) throw new Error('HTTP ' + res.status);
  const reader = res.body.getReader();
  const dec = new TextDecoder();
  let buf = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buf += dec.decode(value, { stream: true });
    let start = 0;
    for (let nl = buf.indexOf('\n'); nl !== -1; nl = buf.indexOf('\n', start)) {
      if (nl > start + 6 && buf.charCodeAt(start + 6) === 123)
        yield JSON.parse(buf.slice(start + 6, nl));
      start = nl + 1;
    }
    buf = buf.slice(start);
  }
}
export async function* agent(sc, baseURL) {
  const messages = [
    { role: 'system', content: sc.system },
    { role: 'user', content: sc.prompt },
  ];
  for (let i = 0; i < sc.maxTurns; i++) {
    const body = JSON.stringify({
      model: sc.model,
      messages,
      tools: params,
      stream: true,
      stream_options: { include_usage: true },
    });
    const calls = [];
    let content = '';
    for await (const ev of sse(baseURL + '/chat/completions', body)) {
      const d = ev.choices[0]?.delta;
      if (!d) continue;
      if (d.content) {
        content += d.content;
        yield { type: 'text', delta: d.content };
      }
      if (d.tool_calls)
        for (const t of d.tool_calls) {
          const c = (calls[t.index] ??= {
            id: t.id,
            type: 'function',
            function: { name: t.function.name, arguments: '' },
          });
          c.function.arguments += t.function.arguments;
          yield { type: 'tool-args', id: c.id, delta: t.function.arguments };
        }
    }
    if (!calls.length) return;
    messages.push({ role: 'assistant', content: content || null, tool_calls: calls });
    const results = await Promise.all(
      calls.map(async (c) => sc.tool(JSON.parse(c.function.arguments))),
    );
    for (let k = 0; k < calls.length; k++) {
      messages.push({ role: 'tool', tool_call_id: calls[k].id, content: results[k] });
      yield { type: 'tool-result', id: calls[k].id, result: results[k] };
    }
  }
}
export async function run(sc, baseURL) {
  const out = { chars: 0, deltas: 0, tools: 0 };
  for await (const e of agent(sc, baseURL)) {
    if (e.type === 'text') {
      out.chars += e.delta.length;
      out.deltas++;
    } else if (e.type === 'tool-result') out.tools++;
  }
  return out;
}
