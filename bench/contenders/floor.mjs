// The floor: the least code that does the work. It uses raw fetch, a minimal loop over SSE lines,
// JSON.parse per event, and callbacks.
export const label = 'floor (fetch + SSE, callback)';
export const params = [
  {
    type: 'function',
    function: {
      name: 'lookup',
      description: 'Looks a thing up and returns what is known about it.',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string' }, n: { type: 'number' } },
        required: ['query', 'n'],
        additionalProperties: false,
      },
    },
  },
];
export async function turn(url, body, onText) {
  const res = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
    body,
  });
  if (!res.ok) throw new Error('HTTP ' + res.status);
  const reader = res.body.getReader();
  const dec = new TextDecoder();
  const calls = [];
  let content = '';
  let buf = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    buf += dec.decode(value, { stream: true });
    let start = 0;
    for (let nl = buf.indexOf('\n'); nl !== -1; nl = buf.indexOf('\n', start)) {
      if (
        nl > start + 6 &&
        buf.charCodeAt(start) === 100 /* d */ &&
        buf.charCodeAt(start + 6) === 123 /* { */
      ) {
        const d = JSON.parse(buf.slice(start + 6, nl)).choices[0]?.delta;
        if (d) {
          if (d.content) {
            content += d.content;
            onText(d.content);
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
      }
      start = nl + 1;
    }
    buf = buf.slice(start);
  }
  return { content, calls };
}
export async function run(sc, baseURL) {
  const out = { chars: 0, deltas: 0, tools: 0 };
  const onText = (t) => {
    out.chars += t.length;
    out.deltas++;
  };
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
    const { content, calls } = await turn(baseURL + '/chat/completions', body, onText);
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
