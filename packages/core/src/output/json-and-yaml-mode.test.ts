import { expect, expectTypeOf, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import {
  InMemoryMemory,
  ReActAgent,
  textOf,
  type AgentEvent,
  type AgentOptions,
  type CallOptions,
  type ChatModel,
  type JsonValue,
} from '@isoloop/core';
import { jsonMode, yamlMode } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

const City = z.object({ name: z.string(), people: z.number() });
const rome = { name: 'Rome', people: 2_800_000 };
const yaml = 'name: Rome\npeople: 2800000\n';

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const memory = new InMemoryMemory();
  return { model, memory, agent: new ReActAgent({ name: 'a', model, memory, ...options }) };
}

/** Returns the text on a reader's screen at the end. */
async function shown(
  agent: ReActAgent,
  options: CallOptions,
): Promise<{ text: string; events: readonly AgentEvent[] }> {
  const events: AgentEvent[] = [];
  let text = '';
  for await (const event of agent.stream('Which city?', options)) {
    events.push(event);
    if (event.type === 'step-reset') text = event.replacement ? textOf(event.replacement) : '';
    if (event.type === 'reasoning-chunk') text += event.delta;
  }
  return { text, events };
}

test('jsonMode() returns JSON that matches the schema as the output', async () => {
  const { agent, model } = setUp([JSON.stringify(rome)]);
  const result = await agent.call('Which city?', { output: jsonMode(City) });
  expectTypeOf(result.output).toEqualTypeOf<{ name: string; people: number } | undefined>();
  expect(result).toMatchObject({ output: rome, text: JSON.stringify(rome), reason: 'stop' });
  expect(textOf(model.requests[0]!.messages[0]!)).toMatch(/JSON alone.*"people"/s);
  expect(model.requests[0]!.responseSchema).toMatchObject({ type: 'object' });
});

test('invalid JSON is repaired once through the wrapped model, and the tokens of both requests count', async () => {
  const asked: number[] = [];
  const counting = (next: ChatModel): ChatModel => ({
    provider: next.provider,
    modelId: next.modelId,
    features: next.features,
    stream(request, context) {
      asked.push(request.messages.length);
      return next.stream(request, context);
    },
  });
  const { agent, model, memory } = setUp(
    ['{"name":"Rome"}', `\`\`\`json\n${JSON.stringify(rome)}\n\`\`\``],
    {
      use: [{ wrapModel: counting }],
      systemPrompt: 'Be brief.',
    },
  );
  const { text, events } = await shown(agent, { output: jsonMode(City) });
  expect(text).toBe(JSON.stringify(rome));
  expect(events.flatMap((event) => (event.type === 'step-reset' ? event.reason : []))).toEqual([
    'output',
    'output',
  ]);
  expect(events.at(-1)).toMatchObject({
    result: { output: rome, usage: { inputTokens: 20, outputTokens: 10 } },
  });
  expect(asked).toEqual([2, 4]);
  const [system, , , repair] = model.requests[1]!.messages;
  expect(textOf(system!)).toMatch(/^Be brief\./);
  expect(textOf(repair!)).toMatch(/- people: .*JSON alone/s);
  expect((await memory.read()).map(textOf)).toEqual(['Which city?', JSON.stringify(rome)]);
});

test('after a second invalid value, the call fails with the raw text', async () => {
  const { agent, model, memory } = setUp(['no', '{"name": "Rome"']);
  await expect(agent.call('Which city?', { output: jsonMode(City) })).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    details: { text: '{"name": "Rome"', issues: ['it is not valid JSON'] },
  });
  model.assertDone();
  expect((await memory.read()).map(textOf)).toEqual(['Which city?', '{"name": "Rome"']);
});

test('the correction reports the first of several invalid values', async () => {
  const { agent, model } = setUp([
    '```{"people":1}``` or ```{"name":"Rome"}```',
    JSON.stringify(rome),
  ]);
  await agent.call('?', { output: jsonMode(City) });
  const told = textOf(model.requests[1]!.messages.at(-1)!);
  expect(told).toContain('name: ');
  expect(told).not.toContain('people: ');
});

test('`attempts` sets the number of attempts', async () => {
  await expect(
    setUp(['no']).agent.call('?', { output: jsonMode(City, { attempts: 1 }) }),
  ).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
  });
  const { agent } = setUp(['no', 'no', '[1]']);
  expect((await agent.call('?', { output: jsonMode(undefined, { attempts: 3 }) })).output).toEqual([
    1,
  ]);
});

test('without a schema, jsonMode() accepts any object or array, but no single word or number', async () => {
  const { agent, model } = setUp(['7', '{"a":1}']);
  const { output } = await agent.call('?', { output: jsonMode() });
  expectTypeOf(output).toEqualTypeOf<JsonValue | undefined>();
  expect(output).toEqual({ a: 1 });
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('not an object or array');
  expect(model.requests[0]!).not.toHaveProperty('responseSchema');
});

test('with plain JSON Schema, jsonMode() rejects a value of another type', async () => {
  const { agent } = setUp(['7', '[7]', '{}', '[7]']);
  expect(
    (await agent.call('?', { output: jsonMode({ type: 'object' }, { attempts: 3 }) })).output,
  ).toEqual({});
  expect((await agent.call('?', { output: jsonMode({ type: 'array' }) })).output).toEqual([7]);
});

test.each([
  ['```json\n{"name":"Rome","people":1}\n```'],
  ['```{"name":"Rome","people":1}```'],
  ['Sure:\n\n```\n{"name":"Rome","people":1}\n```\nAnything else?'],
  ['```json\n{"name":"Rome","people":1}'],
  ['First ```{"name":7}``` no, ```{"name":"Rome","people":1}```'],
  ['It is {"name":"Rome","people":1}, I think.'],
])('jsonMode() finds the value in %j', async (text) => {
  const { agent } = setUp([text]);
  expect((await agent.call('?', { output: jsonMode(City) })).output).toEqual({
    name: 'Rome',
    people: 1,
  });
});

test('finding a value in a long reply takes linear time', async () => {
  for (const piece of ['[', '{', '```', '` ', '``` ']) {
    const { agent } = setUp([`${piece.repeat(100_000)}x`, '{}']);
    expect((await agent.call('?', { output: jsonMode() })).output).toEqual({});
  }
  const { agent } = setUp([`\`\`\`${'a'.repeat(500_000)}`, `\`\`\`${' '.repeat(500_000)}`, '{}']);
  expect((await agent.call('?', { output: jsonMode(undefined, { attempts: 3 }) })).output).toEqual(
    {},
  );
});

test('yamlMode() returns YAML that matches the schema as the output, and the text stays YAML', async () => {
  const { agent, model, memory } = setUp([yaml]);
  const output = yamlMode(City, { parse });
  const { text, events } = await shown(agent, { output });
  expect(text).toBe(yaml);
  expect(events.some(({ type }) => type === 'step-reset')).toBe(false);
  expect(events.at(-1)).toMatchObject({
    result: { output: rome, text: yaml, message: { metadata: { output: rome } } },
  });
  expect(textOf(model.requests[0]!.messages[0]!)).toMatch(/YAML alone.*JSON Schema/s);
  expect(model.requests[0]!).not.toHaveProperty('responseSchema');
  expect((await memory.read()).map(textOf)).toEqual(['Which city?', yaml]);
});

test.each([
  [`\`\`\`yaml\n${yaml}\`\`\``, yaml.trimEnd()],
  [`\`\`\`\n${yaml}\`\`\``, yaml.trimEnd()],
  [
    `Here you are:\n\n\`\`\`yml\n  name: Rome\n  people: 2800000\n\`\`\`\nBye.`,
    '  name: Rome\n  people: 2800000',
  ],
])(
  'the fence around YAML is removed from %j, and a step-reset shows the change',
  async (reply, kept) => {
    const { agent } = setUp([reply]);
    const { text, events } = await shown(agent, { output: yamlMode(City, { parse }) });
    expect(text).toBe(kept);
    expect(events.at(-1)).toMatchObject({ result: { output: rome, text: kept } });
  },
);

test('a fence inside the YAML is kept', async () => {
  const { agent } = setUp(['code: |\n  ```js\n  1\n  ```\n']);
  const { output } = await agent.call('?', {
    output: yamlMode(z.object({ code: z.string() }), { parse }),
  });
  expect(output).toEqual({ code: '```js\n1\n```\n' });
});

test.each(['Rome', 'name: [Rome', 'name: Rome', '', '- Rome', 'a: &a\n  b: *a'])(
  'the reply %j is repaired, because it is not the expected YAML',
  async (wrong) => {
    const { agent, model } = setUp([wrong, yaml]);
    const { text, events } = await shown(agent, { output: yamlMode(City, { parse }) });
    expect(text).toBe(yaml);
    expect(events.some(({ type }) => type === 'step-reset')).toBe(true);
    expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('YAML alone');
  },
);

test('yamlMode() rejects a single word, even without a schema', async () => {
  for (const schema of [{ type: 'object' }, undefined] as const) {
    const { agent } = setUp(['Rome', 'Rome again']);
    const output = schema ? yamlMode(schema, { parse }) : yamlMode(undefined, { parse });
    await expect(agent.call('?', { output })).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      details: { text: 'Rome again' },
    });
  }
});

test('yamlMode() rejects a small text that expands to a huge value, and values without a JSON form', async () => {
  let bomb: unknown = ['x'];
  for (let level = 0; level < 40; level++) bomb = [bomb, bomb];
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const value of [
    bomb,
    cycle,
    { a: 1n },
    { a: NaN },
    { a: undefined },
    new Map(),
    new URL('https://example.com'),
    { a: () => 1 },
  ]) {
    const { agent } = setUp(['a: 1']);
    const output = yamlMode(undefined, { parse: () => value, attempts: 1 });
    await expect(agent.call('?', { output })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  }
  const { agent } = setUp(['at: 2026-01-02']);
  const output = yamlMode(undefined, { parse: () => ({ at: new Date(0) }) });
  expect((await agent.call('?', { output })).output).toEqual({ at: '1970-01-01T00:00:00.000Z' });
});

test('at the limit of iterations, the value is requested in one more request', async () => {
  const { agent, model } = setUp(['nothing', `\`\`\`yaml\n${yaml}\`\`\``], {
    limits: { iterations: 1 },
  });
  const result = await agent.call('?', { output: yamlMode(City, { parse }) });
  expect(result).toMatchObject({ output: rome, reason: 'max-iterations', text: yaml.trimEnd() });
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('as YAML alone');
});

test('jsonMode() and yamlMode() reject an invalid schema, parser or number of attempts', () => {
  const configuration = expect.objectContaining({ name: 'AgentError', code: 'CONFIGURATION' });
  expect(() => jsonMode('x' as unknown as typeof City)).toThrow(configuration);
  expect(() => jsonMode(z.date())).toThrow(configuration);
  expect(() => jsonMode([] as never)).toThrow(configuration);
  expect(() => jsonMode({ maximum: 1n } as never)).toThrow(configuration);
  expect(() => jsonMode(City, { attempts: 0 })).toThrow(configuration);
  expect(() => jsonMode(City, null as never)).toThrow(configuration);
  expect(() => yamlMode(City, {} as { parse: typeof parse })).toThrow(configuration);
  expect(() => yamlMode(City, undefined as unknown as { parse: typeof parse })).toThrow(
    configuration,
  );
});
