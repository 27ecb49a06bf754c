// Checks of what OxyGent's document says about its ReAct agent, through the public API alone.
import {
  agentTool,
  InMemoryMemory,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  systemMessage,
  textOf,
  tool,
  userMessage,
  type AgentOptions,
  type AgentStream,
  type JsonObject,
  type MediaBlock,
} from '@isoloop/core';
import { jsonMode, structured } from '@isoloop/core/output';
import { oxygent, type OxygentOptions } from '@isoloop/core/presets';
import { callVariables } from '@isoloop/core/prompt';
import {
  ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedReply,
} from '@isoloop/core/testing';
import { byWords, provide, selectTools } from '@isoloop/core/tools';
import { afterEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';

const echo = tool({
  name: 'echo',
  description: 'Repeats a text.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
});
const broken = tool({
  name: 'broken',
  description: 'Fails.',
  input: z.object({}),
  execute: () => {
    throw new Error('No paper.');
  },
});
const chart = (name: string): MediaBlock => ({
  type: 'image',
  source: { type: 'url', url: `https://example.com/${name}.png` },
});

interface Setup extends Partial<Omit<AgentOptions, 'model' | 'use'>>, ScriptedModelOptions {
  readonly preset?: OxygentOptions;
}

function setUp(replies: readonly ScriptedReply[], { preset, features, ...options }: Setup = {}) {
  const model = new ScriptedModel(replies, features ? { features } : {});
  const use = [oxygent(preset)];
  const agent = new ReActAgent({ name: 'oxy', model, tools: [echo, broken], use, ...options });
  return { model, agent };
}

function calls(name: string, input: JsonObject = {}, fields: JsonObject = {}): string {
  return JSON.stringify({ tool_name: name, arguments: input, ...fields });
}

function echoes(text: string, fields?: JsonObject): string {
  return calls('echo', { text }, fields);
}

function list(...replies: readonly string[]): string {
  return `[${replies.join(', ')}]`;
}

/** Returns the roles and texts of a request after its system prompt. */
function said(model: ScriptedModel, request: number): string[] {
  const messages = model.requests[request]?.messages ?? [];
  return messages
    .filter(({ role }) => role !== 'system')
    .map((msg) => `${msg.role}: ${textOf(msg)}`);
}

function systemOf(model: ScriptedModel, request: number): string {
  const messages = model.requests[request]?.messages ?? [];
  return messages
    .filter(({ role }) => role === 'system')
    .map(textOf)
    .join('\n');
}

function observed(name: string, text: string): string {
  return `Tool [${name}] execution result: ${text}`;
}

/** Returns the text that a reader sees at the end, and the types of all events. */
async function read(stream: AgentStream) {
  let text = '';
  const types: string[] = [];
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === 'reasoning-chunk' && event.kind === 'text') text += event.delta;
    if (event.type === 'summary-chunk') text += event.delta;
    if (event.type === 'step-reset') text = event.replacement ? textOf(event.replacement) : '';
  }
  return { text, types, result: await stream.result };
}

afterEach(() => void vi.useRealTimers());

describe('rounds', () => {
  test('a tool call in the last round runs, and the answer is asked from its result', async () => {
    const { model, agent } = setUp(['Before.', echoes('treasure'), 'Found it.'], {
      preset: { maxRounds: 1 },
    });
    await agent.call('Earlier?');
    const { text, reason } = await agent.call('Where is it?');
    expect([text, reason]).toEqual(['Found it.', 'max-iterations']);
    const [only, ...more] = said(model, 2);
    expect(more).toEqual([]);
    expect(only).toContain('Where is it?');
    expect(only).toContain('treasure');
    expect(only).not.toContain('Earlier?');
  });

  test('invalid replies use up rounds, and the last request comes even without a result', async () => {
    const { model, agent } = setUp(['{"a": 1}', '{"a": 2}', 'At last.'], {
      preset: { maxRounds: 2 },
    });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['At last.', 'max-iterations']);
    expect(said(model, 2)[0]).toContain('Go.');
  });

  test('a tool call in the reply to the last request does not run', async () => {
    const ran: string[] = [];
    const spy = tool({
      name: 'spy',
      description: 'Notes a text.',
      input: z.object({ text: z.string() }),
      execute: ({ text }) => ran.push(text),
    });
    const { model, agent } = setUp(
      [calls('spy', { text: 'in time' }), calls('spy', { text: 'too late' })],
      { preset: { maxRounds: 1 }, tools: [spy] },
    );
    const { reason } = await agent.call('Go.');
    expect(reason).toBe('max-iterations');
    expect(ran).toEqual(['in time']);
    model.assertDone();
  });

  test('the words beside a tool call in the reply to the last request are the answer', async () => {
    const { agent } = setUp([echoes('x'), `It may be x. ${echoes('y')}`], {
      preset: { maxRounds: 1 },
    });
    const { text, result } = await read(agent.stream('Go.'));
    expect([text, result.text]).toEqual(['It may be x.', 'It may be x.']);
  });

  test('JSON in the reply to the last request is the answer, and an empty reply names the limit', async () => {
    const texts = [];
    for (const last of ['{"a": 1}', '']) {
      const { agent } = setUp([echoes('x'), last], { preset: { maxRounds: 1 } });
      texts.push((await agent.call('Go.')).text);
    }
    expect(texts).toEqual([
      '{"a": 1}',
      'Maximum iterations (1) reached. Unable to generate summary.',
    ]);
  });

  test('an answer after the last round is in the history of the next agent call', async () => {
    const { model, agent } = setUp([echoes('x'), 'Summed up.', 'Again.'], {
      preset: { maxRounds: 1 },
    });
    await agent.call('First?');
    await agent.call('Second?');
    expect(said(model, 2)).toEqual(['user: First?', 'assistant: Summed up.', 'user: Second?']);
  });

  test('the last request has only the results for the current question', async () => {
    const { model, agent } = setUp([echoes('old'), 'A.', echoes('fresh'), echoes('newer'), 'B.'], {
      preset: { maxRounds: 2 },
    });
    await agent.call('First?');
    await agent.call('Second?');
    const [request = ''] = said(model, 4);
    expect(request).not.toContain('old');
    expect(request.indexOf('fresh')).toBeGreaterThan(0);
    expect(request.indexOf('newer')).toBeGreaterThan(request.indexOf('fresh'));
  });

  test('each agent call has all of its rounds', async () => {
    const { agent } = setUp([echoes('1'), echoes('2'), 'A.', echoes('3'), echoes('4'), 'B.'], {
      preset: { maxRounds: 3 },
    });
    const first = await agent.call('First?');
    const second = await agent.call('Second?');
    expect([first.reason, second.reason]).toEqual(['stop', 'stop']);
    expect([first.iterations, second.iterations]).toEqual([3, 3]);
  });

  test('without rounds, the first request is the last one', async () => {
    const { model, agent } = setUp(['At once.'], { preset: { maxRounds: 0 } });
    const { text, reason, iterations } = await agent.call('Go.');
    expect([text, reason, iterations]).toEqual(['At once.', 'max-iterations', 0]);
    expect(said(model, 0)[0]).toContain('Go.');
  });

  test('the last request has the pictures of the question and of the results', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws.',
      input: z.object({}),
      execute: () => ({ content: [{ type: 'text', text: 'A chart.' }, chart('second')] }),
    });
    const { model, agent } = setUp([calls('draw'), 'Two charts.'], {
      preset: { maxRounds: 1 },
      tools: [draw],
      features: { media: ['image'] },
    });
    await agent.call(userMessage([{ type: 'text', text: 'Analyze.' }, chart('first')]));
    const blocks = model.requests[1]?.messages.flatMap(({ content }) => content) ?? [];
    expect(blocks).toEqual(expect.arrayContaining([chart('first'), chart('second')]));
  });

  test('the last request may be interrupted', async () => {
    const { agent } = setUp(
      [echoes('x'), { wait: async () => void agent.interrupt('Enough.'), text: 'Summed up.' }],
      { preset: { maxRounds: 1 } },
    );
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Enough.', 'interrupted']);
  });

  test('the last request has the results from before an approval, too', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({}),
      needsApproval: true,
      execute: () => 'Paid.',
    });
    const replies = [echoes('price'), calls('pay'), echoes('bill'), echoes('tip'), 'Done.'];
    const { model, agent } = setUp(replies, { preset: { maxRounds: 2 }, tools: [echo, pay] });
    const [waiting] = (await agent.call('Pay.')).pending;
    const result = await agent.call([{ toolUseId: waiting?.toolUseId ?? '', type: 'approve' }]);
    expect([result.text, result.reason]).toEqual(['Done.', 'max-iterations']);
    expect(said(model, 4)[0]).toMatch(/Pay\..*price.*Paid\..*bill.*tip/s);
  });

  test('the last request is sent again after a short failure', async () => {
    vi.useFakeTimers();
    const busy = { error: Object.assign(new Error('Overloaded'), { status: 503 }) };
    const { agent } = setUp([echoes('x'), busy, 'Summed up.'], { preset: { maxRounds: 1 } });
    const call = agent.call('Go.');
    await vi.runAllTimersAsync();
    expect((await call).text).toBe('Summed up.');
  });

  test('after the last round, an agent call that asks for JSON gets its value', async () => {
    const { agent } = setUp([echoes('x'), '{"total": 3}'], { preset: { maxRounds: 1 } });
    const { output, reason } = await agent.call('Go.', {
      output: structured(z.object({ total: z.number() }), { mode: 'prompt' }),
    });
    expect([output, reason]).toEqual([{ total: 3 }, 'max-iterations']);
  });

  test('the steps of an agent call that used up its rounds stay in the history', async () => {
    const { model, agent } = setUp([echoes('x'), 'Summed up.', 'Hello.'], {
      preset: { maxRounds: 1, discardReactMemory: false },
    });
    expect((await agent.call('q1')).reactMemory).toHaveLength(2);
    await agent.call('q2', { allowTools: [] });
    expect(said(model, 2)).toEqual([
      'user: q1',
      `assistant: ${echoes('x')}`,
      `user: ${observed('echo', 'x')}`,
      'assistant: Summed up.',
      'user: q2',
    ]);
  });

  test('a reader gets the answer after the last round as a summary', async () => {
    const { agent } = setUp([echoes('x'), 'Summed up here.'], { preset: { maxRounds: 1 } });
    const { text, types, result } = await read(agent.stream('Go.'));
    expect(text).toBe('Summed up here.');
    expect(result.text).toBe(text);
    const told = ['post-acting', 'pre-summary', 'summary-chunk', 'post-summary'];
    expect(types.filter((type) => told.includes(type))).toEqual(told);
  });
});

describe('the messages of a round', () => {
  test('stand in the order: history, question, steps of this agent call', async () => {
    const { model, agent } = setUp(['A.', echoes('1'), echoes('2'), 'B.']);
    await agent.call('First?');
    await agent.call('Second?');
    expect(said(model, 3)).toEqual([
      'user: First?',
      'assistant: A.',
      'user: Second?',
      `assistant: ${echoes('1')}`,
      `user: ${observed('echo', '1')}`,
      `assistant: ${echoes('2')}`,
      `user: ${observed('echo', '2')}`,
    ]);
    expect(model.requests[3]?.messages[0]?.role).toBe('system');
  });

  test('have the instructions of the agent call before the history', async () => {
    const { model, agent } = setUp(['A.', 'B.', 'C.'], { systemPrompt: 'Be kind.' });
    await agent.call('First?');
    await agent.call('Second?', { instructions: [systemMessage('Be brief.')] });
    await agent.call('Third?');
    const texts = (request: number) => model.requests[request]?.messages.map(textOf) ?? [];
    expect(texts(1).slice(1)).toEqual(['Be brief.', 'First?', 'A.', 'Second?']);
    expect(texts(2)).not.toContain('Be brief.');
  });

  test('have no thought, neither of the text nor beside it nor in the tool call', async () => {
    const { model, agent } = setUp([
      { thinking: 'Beside.', text: `<think>In.</think>${echoes('x', { think: 'Within.' })}` },
      'Done.',
    ]);
    const thoughts: string[] = [];
    for await (const event of agent.stream('Go.'))
      if (event.type === 'reasoning-chunk' && event.kind === 'thinking') thoughts.push(event.delta);
    expect(thoughts.join('')).toBe('Beside.In.Within.');
    expect(said(model, 1)[1]).toBe(`assistant: ${echoes('x', { think: 'Within.' })}`);
  });

  test('show wrong arguments as a result, without running the tool', async () => {
    const { model, agent } = setUp(['{"tool_name": "echo"}', 'Done.']);
    expect((await agent.call('Go.')).text).toBe('Done.');
    expect(said(model, 1).at(-1)).toMatch(/^user: Tool \[echo\] execution result: .*text/s);
  });

  test('show only the calls that a hook leaves in a list', async () => {
    const { model, agent } = setUp([list(echoes('a'), echoes('b')), 'Done.']);
    agent.addHook({
      on: {
        'post-reasoning': ({ message, ...event }) => ({
          ...event,
          message: { ...message, content: message.content.slice(0, 1) },
        }),
      },
    });
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'a')}`);
    expect(said(model, 1)[1]).not.toContain('"b"');
  });

  test('show an approved and a refused call of a list in their order', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ to: z.string() }),
      needsApproval: true,
      execute: ({ to }) => `Paid ${to}.`,
    });
    const both = list(calls('pay', { to: 'Eve' }), echoes('x'), calls('pay', { to: 'Bob' }));
    const { model, agent } = setUp([both, 'Done.'], { tools: [pay, echo] });
    const [eve, bob] = (await agent.call('Pay.')).pending;
    await agent.call([
      { toolUseId: bob?.toolUseId ?? '', type: 'approve' },
      { toolUseId: eve?.toolUseId ?? '', type: 'reject', reason: 'Not Eve.' },
    ]);
    const results = said(model, 1).at(-1)?.split('\n\n') ?? [];
    expect(results[0]).toContain('Not Eve.');
    expect(results.slice(1)).toEqual([observed('echo', 'x'), observed('pay', 'Paid Bob.')]);
    expect(said(model, 1)[1]).toBe(`assistant: ${both}`);
  });

  test('show a failed and an unknown tool beside a successful one', async () => {
    vi.useFakeTimers();
    const { model, agent } = setUp([list(calls('broken'), calls('fly'), echoes('ok')), 'Done.']);
    const call = agent.call('Go.');
    await vi.runAllTimersAsync();
    expect((await call).text).toBe('Done.');
    const results = said(model, 1).at(-1)?.split('\n\n') ?? [];
    expect(results).toHaveLength(3);
    expect(results[0]).toContain('No paper.');
    expect(results[1]).toContain('Tool [fly] execution result: ');
    expect(results[2]).toBe(observed('echo', 'ok'));
  });

  test('repeat a reply as the model wrote it, without its thinking', async () => {
    const written =
      'I look it up.\n```json\n{ "tool_name" : "echo",\n  "arguments": {"text":"x"} }\n```';
    const { model, agent } = setUp([`<think>Hm, hm.</think>\n${written}\n\n`, 'Done.']);
    await agent.call('Go.');
    expect(said(model, 1)[1]).toBe(`assistant: ${written}`);
  });

  test('show text of any language unchanged and other values as JSON', async () => {
    const city = tool({
      name: 'city',
      description: 'Describes a city.',
      input: z.object({}),
      execute: () => ({ name: '東京', people: 14_000_000 }),
    });
    const { model, agent } = setUp([list(echoes('人口は「多い」😀'), calls('city')), 'はい。'], {
      tools: [echo, city],
    });
    await agent.call('東京は?');
    expect(said(model, 1).at(-1)).toBe(
      `user: ${observed('echo', '人口は「多い」😀')}\n\n${observed('city', '{"name":"東京","people":14000000}')}`,
    );
  });

  test('have the invalid reply before its correction, and keep both in later rounds', async () => {
    const { model, agent } = setUp(['{"answer": 42}', echoes('x'), 'Done.']);
    await agent.call('Go.');
    const [question, reply, correction, ...rest] = said(model, 2);
    expect([question, reply]).toEqual(['user: Go.', 'assistant: {"answer": 42}']);
    expect(correction).toMatch(/^user: .*tool_name/s);
    expect(rest).toEqual([`assistant: ${echoes('x')}`, `user: ${observed('echo', 'x')}`]);
  });
});

describe('the parser', () => {
  test('reads what follows the last end of a thought', async () => {
    const { agent } = setUp(['First.</think>Second.</think>\n\nThe answer is 4. ']);
    expect((await agent.call('2 + 2?')).text).toBe('The answer is 4.');
  });

  test('does not run a tool call that the model only thinks about', async () => {
    const { agent } = setUp([`<think>Maybe ${echoes('x')}</think>The answer is 4.`]);
    const { text, toolsUsed } = await agent.call('2 + 2?');
    expect([text, toolsUsed]).toEqual(['The answer is 4.', []]);
  });

  test('runs the first of two fenced tool calls', async () => {
    const fenced = (text: string) => `Now:\n\`\`\`json\n${echoes(text)}\n\`\`\`\n`;
    const { model, agent } = setUp([`${fenced('first')}${fenced('second')}`, 'Done.']);
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'first')}`);
  });

  test('runs a tool call with words before and after it', async () => {
    const { model, agent } = setUp([`I call ${echoes('it')} now.`, 'Done.']);
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'it')}`);
  });

  test('takes a tool call without any closing brace for an answer', async () => {
    const { agent } = setUp(['{"tool_name": "echo", "arguments": {']);
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['{"tool_name": "echo", "arguments": {', 'stop']);
  });

  test('asks again for a tool call that is no JSON', async () => {
    const { model, agent } = setUp([
      '{"tool_name": "echo", "arguments": {text: x}}',
      echoes('x'),
      'Done.',
    ]);
    const { text, iterations } = await agent.call('Go.');
    expect([text, iterations]).toEqual(['Done.', 3]);
    expect(said(model, 1).at(-1)).toMatch(/JSON/);
  });

  test('takes braces that are no JSON and no tool call for an answer', async () => {
    const { agent } = setUp(['Use {curly} braces {like these}.']);
    expect((await agent.call('How?')).text).toBe('Use {curly} braces {like these}.');
  });

  test('refuses a JSON object in an agent call that allows no tools', async () => {
    const { agent } = setUp(['{"foo": 1}', echoes('x'), 'Plain.']);
    const { text, iterations, toolsUsed } = await agent.call('Go.', { allowTools: [] });
    expect([text, iterations, toolsUsed]).toEqual(['Plain.', 3, []]);
  });

  test('refuses a JSON object after the last allowed tool call', async () => {
    const { agent } = setUp([echoes('x'), '{"foo": 1}', 'Plain.'], { limits: { toolCalls: 1 } });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Plain.', 'limit']);
  });

  test('refuses a JSON object if hooks or the tool choice leave no tool', async () => {
    const { agent } = setUp(['{"foo": 1}', 'Plain.', '{"foo": 1}', 'Plain.']);
    const chosen = await agent.call('Go.', { toolChoice: 'none' });
    agent.addHook({ on: { 'pre-reasoning': (event) => ({ ...event, tools: [] }) } });
    const hooked = await agent.call('Go.');
    expect([chosen, hooked].map(({ text, iterations }) => [text, iterations])).toEqual([
      ['Plain.', 2],
      ['Plain.', 2],
    ]);
  });

  test('takes a JSON value after the last allowed tool call, if JSON is asked for', async () => {
    const { agent } = setUp([echoes('x'), '{"foo": 1}'], { limits: { toolCalls: 1 } });
    const { output, iterations } = await agent.call('Go.', { output: jsonMode() });
    expect([output, iterations]).toEqual([{ foo: 1 }, 2]);
  });

  test('reads a structured value in an agent call that allows no other tool', async () => {
    const { agent } = setUp([calls('generate_response', { total: 3 })]);
    const output = structured(z.object({ total: z.number() }), { mode: 'tool' });
    expect((await agent.call('Go.', { output, allowTools: [] })).output).toEqual({ total: 3 });
  });

  test('takes a list of plain values for an answer, but not a list of objects', async () => {
    const { agent } = setUp(['[{"a": 1}]', 'The values are [1, 2].']);
    const { text, iterations } = await agent.call('Which?');
    expect([text, iterations]).toEqual(['The values are [1, 2].', 2]);
  });

  test('takes a JSON object for an answer if the agent call asks for JSON', async () => {
    for (const tools of [[], [echo]]) {
      const { agent } = setUp(['```json\n{"foo": 1}\n```'], { tools });
      const { output, iterations } = await agent.call('Go.', { output: jsonMode() });
      expect([output, iterations]).toEqual([{ foo: 1 }, 1]);
    }
  });

  test('reads a structured value beside real tools, also after an invalid reply', async () => {
    const { agent } = setUp([echoes('x'), '{"foo": 1}', calls('generate_response', { total: 3 })]);
    const output = structured(z.object({ total: z.number() }));
    const result = await agent.call('Go.', { output });
    expect([result.output, result.iterations]).toEqual([{ total: 3 }, 3]);
  });

  test('may be replaced by one that reads another form and falls back to it', async () => {
    const { model, agent } = setUp(
      ['ACTION: echo\n{"text": "one"}', 'ACTION: echo\n{text}', echoes('two'), 'Done.'],
      {
        preset: {
          protocol: {
            parse(reply, _context, otherwise) {
              const [line = '', ...rest] = reply.split('\n');
              if (!line.startsWith('ACTION:')) return otherwise(reply);
              try {
                const input = JSON.parse(rest.join('\n')) as JsonObject;
                return { type: 'calls', calls: [{ name: line.slice(7).trim(), arguments: input }] };
              } catch {
                return { type: 'invalid', message: 'Invalid action format' };
              }
            },
          },
        },
      },
    );
    const { text, result } = await read(agent.stream('Go.'));
    expect([text, result.iterations]).toEqual(['Done.', 4]);
    expect(said(model, 3)).toEqual([
      'user: Go.',
      'assistant: ACTION: echo\n{"text": "one"}',
      `user: ${observed('echo', 'one')}`,
      'assistant: ACTION: echo\n{text}',
      'user: Invalid action format',
      `assistant: ${echoes('two')}`,
      `user: ${observed('echo', 'two')}`,
    ]);
  });

  test('reads special numbers of Python, which become null in the arguments', async () => {
    const sum = tool({
      name: 'sum',
      description: 'Adds.',
      input: z.object({ of: z.array(z.number().nullable()) }),
      execute: ({ of }) => of,
    });
    const { model, agent } = setUp(
      ['{"tool_name": "sum", "arguments": {"of": [1, NaN, -Infinity]}}', 'Done.'],
      { tools: [sum] },
    );
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('sum', '[1,null,null]')}`);
  });

  test('makes no calls in an agent call that allows no tools, whichever parser reads it', async () => {
    const parse = (text: string) =>
      text === 'CALL'
        ? ({ type: 'calls', calls: [{ name: 'echo', arguments: { text } }] } as const)
        : ({ type: 'answer', text } as const);
    const { agent } = setUp(['CALL', 'Fine.'], { preset: { protocol: { parse } } });
    const { text, toolsUsed, iterations } = await agent.call('Go.', { allowTools: [] });
    expect([text, toolsUsed, iterations]).toEqual(['Fine.', [], 2]);
  });

  test('reads a list of one call, but not of two, with one call per reply', async () => {
    const { model, agent } = setUp(
      [list(echoes('a'), echoes('b')), `\`\`\`json\n${list(echoes('c'))}\n\`\`\``, 'Done.'],
      { preset: { protocol: { parallel: false } } },
    );
    await agent.call('Go.');
    expect(said(model, 2).at(-1)).toBe(`user: ${observed('echo', 'c')}`);
    expect(said(model, 1).at(-1)).not.toContain('execution result');
  });
});

describe('reflexion', () => {
  const strict = (reply: string) => {
    if (reply.length < 10) return 'Please provide a more detailed explanation.';
    if (reply.toLowerCase().includes("i don't know")) return 'Try to use available tools.';
    return null;
  };

  test('asks again until the answer is good, and runs tool calls in between', async () => {
    const { model, agent } = setUp(
      ['Yes.', "Really, I don't know.", echoes('x'), 'It is x, as the tool says.'],
      { preset: { reflect: strict } },
    );
    const { text, iterations } = await agent.call('Go.');
    expect([text, iterations]).toEqual(['It is x, as the tool says.', 4]);
    expect(said(model, 3)).toEqual([
      'user: Go.',
      'assistant: Yes.',
      'user: Please provide a more detailed explanation.',
      "assistant: Really, I don't know.",
      'user: Try to use available tools.',
      `assistant: ${echoes('x')}`,
      `user: ${observed('echo', 'x')}`,
    ]);
  });

  test('sees answers without their thinking, and no tool calls', async () => {
    const seen: string[] = [];
    const reflect = (reply: string) => void seen.push(reply);
    const { agent } = setUp([echoes('x'), '<think>Well.</think>\n答えは四です。'], {
      preset: { reflect },
    });
    await agent.call('Go.');
    expect(seen).toEqual(['答えは四です。']);
  });

  test('also checks a JSON answer that the agent call asked for', async () => {
    const reflect = (reply: string) => (reply.includes('0') ? 'Not zero.' : null);
    const { agent } = setUp(['{"n": 0}', '{"n": 1}'], { preset: { reflect } });
    const { output, iterations } = await agent.call('Go.', { output: jsonMode() });
    expect([output, iterations]).toEqual([{ n: 1 }, 2]);
  });

  test('does not check the answer after the last round', async () => {
    const { agent } = setUp(['No.', 'Nope.', 'Short.'], {
      preset: { maxRounds: 2, reflect: strict },
    });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Short.', 'max-iterations']);
  });

  test('does not check a result that is the answer', async () => {
    const reflect = vi.fn(strict);
    const { agent } = setUp([echoes('No.')], { preset: { trustMode: true, reflect } });
    expect((await agent.call('Go.')).text).toBe('No.');
    expect(reflect).not.toHaveBeenCalled();
  });

  test('retracts a refused answer from the readers of a stream', async () => {
    const { agent } = setUp(['Yes.', 'Yes, and here is why.'], { preset: { reflect: strict } });
    const { text, types } = await read(agent.stream('Go.'));
    expect(text).toBe('Yes, and here is why.');
    expect(types.filter((type) => type === 'post-call')).toHaveLength(1);
  });

  test('also checks the answers of a model that calls tools natively', async () => {
    const { agent } = setUp(
      [
        { toolCalls: [{ name: 'echo', input: { text: 'x' } }] },
        '',
        'No.',
        'It is x, says the tool.',
      ],
      { preset: { protocol: false, reflect: strict } },
    );
    const { text, iterations } = await read(agent.stream('Go.')).then(({ result }) => result);
    expect([text, iterations]).toEqual(['It is x, says the tool.', 4]);
  });
});

describe('trust mode', () => {
  test('holds for a flag that equals one, and for no other', async () => {
    const reasons = [];
    for (const flag of [1, true, 0, '1', 2, null]) {
      const { agent } = setUp([echoes('x', { trust_mode: flag }), 'Done.']);
      reasons.push((await agent.call('Go.')).reason);
    }
    expect(reasons).toEqual(['return-direct', 'return-direct', 'stop', 'stop', 'stop', 'stop']);
  });

  test('ends the agent call in the last round, without another request', async () => {
    const { model, agent } = setUp(['{}', echoes('x')], {
      preset: { trustMode: true, maxRounds: 2 },
    });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason, model.requests.length]).toEqual(['x', 'return-direct', 2]);
  });

  test('makes the result the answer that later agent calls see', async () => {
    const { model, agent } = setUp([echoes('42', { trust_mode: 1 }), 'Hello.']);
    await agent.call('First?');
    await agent.call('Second?');
    expect(said(model, 1)).toEqual(['user: First?', 'assistant: 42', 'user: Second?']);
  });

  test('leaves its round in the steps of the result', async () => {
    const { agent } = setUp(['{}', echoes('42', { trust_mode: 1 })]);
    const { reactMemory } = await agent.call('Go.');
    const roles = reactMemory?.map(({ role }) => role).join(' ');
    expect(roles).toBe('assistant user assistant tool');
  });

  test('may depend on what the tool returns', async () => {
    const { agent } = setUp([echoes('first'), echoes('{"trust_mode": 1}')], {
      returnDirect: ({ output }) => String(output).includes('"trust_mode": 1'),
    });
    const { text, reason, iterations } = await agent.call('Go.');
    expect([text, reason, iterations]).toEqual(['{"trust_mode": 1}', 'return-direct', 2]);
  });

  test('answers with the result as hooks leave it', async () => {
    const { agent } = setUp([echoes('secret')], { preset: { trustMode: true } });
    agent.addHook({
      on: {
        'post-acting': (event) => ({ ...event, result: { ...event.result, output: 'masked' } }),
      },
    });
    const { result } = await read(agent.stream('Go.'));
    expect(result.text).toBe('masked');
  });

  test('answers with the pictures of a result', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws.',
      input: z.object({}),
      execute: () => ({ content: [chart('a'), { type: 'text', text: 'A chart.' }] }),
    });
    const { agent } = setUp([calls('draw')], {
      preset: { trustMode: true },
      tools: [draw],
      features: { media: ['image'] },
    });
    const { message } = await agent.call('Draw.');
    expect(message.content).toEqual([chart('a'), { type: 'text', text: 'A chart.' }]);
  });

  test('does not hold for a call that a hook refused', async () => {
    const { model, agent } = setUp([echoes('x'), 'Refused.'], { preset: { trustMode: true } });
    agent.addHook({ on: { 'pre-acting': (_event, { reject }) => reject('Not now.') } });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Refused.', 'stop']);
    expect(said(model, 1).at(-1)).toContain('Not now.');
  });

  test('waits for a result from outside, and then answers with all results of the list', async () => {
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    const { model, agent } = setUp([list(calls('ask'), echoes('b'))], {
      preset: { trustMode: true },
      tools: [ask, echo],
    });
    const { pending, reason } = await agent.call('Go.');
    expect(reason).toBe('suspended');
    const toolUseId = pending[0]?.toolUseId ?? '';
    const { text } = await agent.call([{ toolUseId, type: 'result', output: 'a' }]);
    expect(JSON.parse(text)).toEqual(['a', 'b']);
    model.assertDone();
  });
});

describe('the memory', () => {
  /** Runs two agent calls with one step each, then returns what the third one sees of them. */
  async function history(preset: OxygentOptions, steps: readonly [string, string] = ['1', '2']) {
    const [one, two] = steps;
    const { model, agent } = setUp([echoes(one), 'a1', echoes(two), 'a2', 'a3'], {
      preset: { discardReactMemory: false, ...preset },
    });
    for (const question of ['q1', 'q2', 'q3']) await agent.call(question);
    return said(model, 4).slice(0, -1);
  }
  const step = (text: string) => [`assistant: ${echoes(text)}`, `user: ${observed('echo', text)}`];
  const sizeOf = (text: string) => [...echoes(text), ...observed('echo', text)].length;

  test('keeps a step that fills its size exactly, counted in code points', async () => {
    const emoji = '😀漢字';
    const memoryMax = 8 + sizeOf(emoji);
    expect(await history({ memoryMax }, ['1', emoji])).toEqual([
      'user: q1',
      'assistant: a1',
      'user: q2',
      ...step(emoji),
      'assistant: a2',
    ]);
  });

  test('stops at the first step that does not fit, even if an older one would fit', async () => {
    const memoryMax = 8 + sizeOf('a much longer text') - 1;
    expect(await history({ memoryMax }, ['1', 'a much longer text'])).toEqual([
      'user: q1',
      'assistant: a1',
      'user: q2',
      'assistant: a2',
    ]);
  });

  test('counts a list of calls and its results as one step, also after a restart', async () => {
    const both = list(echoes('a'), echoes('b'));
    const results = `${observed('echo', 'a')}\n\n${observed('echo', 'b')}`;
    const size = 4 + both.length + results.length;
    const store = new MemoryStore();
    const memory = () => new SessionMemory(store, 'ann');
    await setUp([`<think>Both.</think>${both}`, 'a1'], { memory: memory() }).agent.call('q1');
    for (const [memoryMax, steps] of [
      [size, [`assistant: ${both}`, `user: ${results}`]],
      [size - 1, []],
    ] as const) {
      const preset = { discardReactMemory: false, memoryMax, shortMemorySize: 1 };
      const copy = new InMemoryMemory(await memory().read());
      const { model, agent } = setUp(['a2'], { preset, memory: copy });
      await agent.call('q2');
      expect(said(model, 0)).toEqual(['user: q1', ...steps, 'assistant: a1', 'user: q2']);
    }
  });

  test('counts an invalid reply and its correction as one step', async () => {
    const replies = ['{"a": 1}', 'a1', 'a2'];
    const probe = setUp(replies, { preset: { discardReactMemory: false } });
    await probe.agent.call('q1');
    const correction = said(probe.model, 1).at(-1)?.slice('user: '.length) ?? '';
    const size = 4 + '{"a": 1}'.length + correction.length;
    for (const memoryMax of [size, size - 1]) {
      const { model, agent } = setUp(replies, { preset: { discardReactMemory: false, memoryMax } });
      await agent.call('q1');
      await agent.call('q2');
      expect(said(model, 2)).toHaveLength(memoryMax === size ? 5 : 3);
    }
  });

  test('shows no step whose questions are all left out', async () => {
    const memoryMax = 4 + 2 * sizeOf('1');
    expect(await history({ shortWeight: 1, reactWeight: 10, memoryMax })).toEqual([
      'user: q2',
      ...step('2'),
      'assistant: a2',
    ]);
  });

  test('shows another process the steps of a stored session as the model wrote them', async () => {
    const store = new MemoryStore();
    const preset = { discardReactMemory: false };
    const memory = () => new SessionMemory(store, 'ann');
    const written = `I look: {"tool_name":"echo",  "arguments":{"text":"x"}} ok?`;
    const first = setUp([`<think>Hm.</think>${written}`, 'a1'], { preset, memory: memory() });
    await first.agent.call('q1');
    const second = setUp(['a2'], { preset, memory: memory() });
    await second.agent.call('q2');
    expect(said(second.model, 0)).toEqual([
      'user: q1',
      `assistant: ${written}`,
      `user: ${observed('echo', 'x')}`,
      'assistant: a1',
      'user: q2',
    ]);
  });

  test('shows a corrected reply with its correction among the kept steps', async () => {
    const { model, agent } = setUp(['{"a": 1}', 'a1', 'a2'], {
      preset: { discardReactMemory: false },
    });
    await agent.call('q1');
    await agent.call('q2');
    const shown = said(model, 2);
    expect(shown[1]).toBe('assistant: {"a": 1}');
    expect(shown.slice(3)).toEqual(['assistant: a1', 'user: q2']);
  });

  test('leaves out agent calls that failed or were interrupted', async () => {
    const { model, agent } = setUp([{ error: new Error('Down.') }, echoes('x'), 'Here I am.']);
    await agent.call('q1', { throwOnError: false });
    const remove = agent.addHook({ on: { 'post-acting': () => void agent.interrupt() } });
    expect((await agent.call('q2')).reason).toBe('interrupted');
    remove();
    await agent.call('q3');
    expect(said(model, 2)).toEqual(['user: q3']);
  });

  test('has one question and answer of an agent call that was suspended in between', async () => {
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    for (const discardReactMemory of [true, false]) {
      const { model, agent } = setUp([echoes('x'), calls('ask'), 'a1', 'a2'], {
        preset: { discardReactMemory },
        tools: [echo, ask],
      });
      const [question] = (await agent.call('q1')).pending;
      await agent.call([{ toolUseId: question?.toolUseId ?? '', type: 'result', output: 'Yes.' }]);
      await agent.call('q2');
      const steps = [
        ...step('x'),
        `assistant: ${calls('ask')}`,
        `user: ${observed('ask', 'Yes.')}`,
      ];
      expect(said(model, 3)).toEqual([
        'user: q1',
        ...(discardReactMemory ? [] : steps),
        'assistant: a1',
        'user: q2',
      ]);
    }
  });

  test('has the answer to a question that was interrupted and then continued', async () => {
    const { model, agent } = setUp([echoes('x'), 'a1', 'a2'], { preset: { shortMemorySize: 1 } });
    const remove = agent.addHook({ on: { 'post-acting': () => void agent.interrupt() } });
    await agent.call('q1');
    remove();
    await agent.call();
    await agent.call('q2');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'x')}`);
    expect(said(model, 2)).toEqual(['user: q1', 'assistant: a1', 'user: q2']);
  });

  test('has no earlier agent calls if its size is 0', async () => {
    const presets = [
      { shortMemorySize: 0 },
      { shortMemorySize: 0, discardReactMemory: false },
      { memoryMax: 0, discardReactMemory: false },
    ];
    for (const preset of presets) {
      const { model, agent } = setUp([echoes('x'), 'a1', 'a2'], { preset });
      await agent.call('q1');
      await agent.call('q2');
      expect(said(model, 2)).toEqual(['user: q2']);
    }
  });

  test('has the answer of an agent call when the next one in the queue starts', async () => {
    const { model, agent } = setUp(['a1', 'a2'], { whenBusy: 'queue' });
    await Promise.all([agent.call('q1'), agent.call('q2')]);
    expect(said(model, 1)).toEqual(['user: q1', 'assistant: a1', 'user: q2']);
  });

  test('keeps native tool calls with their results, within its size', async () => {
    const native = (text: string) => ({ toolCalls: [{ name: 'echo', input: { text } }] });
    const shown = async (memoryMax: number) => {
      const { model, agent } = setUp([native('1'), 'a1', native('2'), 'a2', 'a3'], {
        preset: { protocol: false, discardReactMemory: false, memoryMax },
      });
      for (const question of ['q1', 'q2', 'q3']) await agent.call(question);
      return model.requests[4]?.messages.map(({ role }) => role).join(' ');
    };
    const qa = 'user assistant';
    const kept = 'user assistant tool assistant';
    expect(await shown(24_800)).toBe(`${kept} ${kept} user`);
    expect(await shown(8)).toBe(`${qa} ${qa} user`);
    expect(await shown(7)).toBe(`${qa} user`);
  });

  test('has earlier turns of messages that the agent was given', async () => {
    const other = setUp([echoes('x'), 'a1']);
    await other.agent.call('q1');
    const memory = new InMemoryMemory(await other.agent.messages());
    const { model, agent } = setUp(['a2'], { memory });
    await agent.call('q2');
    expect(said(model, 0)).toEqual(['user: q1', 'assistant: a1', 'user: q2']);
  });
});

describe('prompt and tools', () => {
  test('the prompt gets the question after hooks, and the arguments of the agent call', async () => {
    const { model, agent } = setUp([echoes('x'), 'Done.'], {
      systemPrompt: 'Solve ${query} for ${user}. ${additional_prompt} ${unknown} ${user}',
    });
    agent.addHook({ on: { 'pre-call': (event) => ({ ...event, input: [userMessage('変')] }) } });
    await agent.call('Original', {
      toolContext: [provide(callVariables, { user: '${query}$&', additional_prompt: 'Be brief.' })],
    });
    const line = 'Solve 変 for ${query}$&. Be brief. ${unknown} ${query}$&';
    expect(systemOf(model, 0)).toContain(line);
    expect(systemOf(model, 1)).toContain(line);
  });

  const mail = tool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({}),
    execute: () => 'Sent.',
  });
  const weather = tool({
    name: 'weather',
    description: 'Weather of a city.',
    input: z.object({}),
    execute: () => 'Sunny.',
  });

  test('the best tools for the question are described, and a hidden one does not run', async () => {
    const model = new ScriptedModel([calls('weather'), calls('send_mail'), 'Done.']);
    const agent = new ReActAgent({
      name: 'oxy',
      model,
      tools: [mail, weather],
      use: [selectTools({ by: byWords({ limit: 1, evenWhenFew: true }) }), oxygent()],
    });
    await agent.call('Send a mail.');
    expect(systemOf(model, 0)).toContain('Sends a mail.');
    expect(systemOf(model, 0)).not.toContain('Weather of a city.');
    expect(said(model, 1).at(-1)).not.toContain('Sunny.');
    expect(said(model, 2).at(-1)).toBe(`user: ${observed('send_mail', 'Sent.')}`);
  });

  test('tools are chosen by words of any language', async () => {
    const [天気, 手紙] = [
      tool({
        name: 'weather',
        description: '天気を調べる',
        input: z.object({}),
        execute: () => '',
      }),
      tool({ name: 'mail', description: '手紙を送る', input: z.object({}), execute: () => '' }),
    ];
    const model = new ScriptedModel(['はい。']);
    const use = [selectTools({ by: byWords({ limit: 1, evenWhenFew: true }) }), oxygent()];
    await new ReActAgent({ name: 'oxy', model, tools: [天気, 手紙], use }).call('東京の天気は?');
    expect(systemOf(model, 0)).toContain('天気を調べる');
    expect(systemOf(model, 0)).not.toContain('手紙を送る');
  });

  test('arguments that the program sets are hidden from the model in every round', async () => {
    const find = tool({
      name: 'find',
      description: 'Finds.',
      input: z.object({ word: z.string(), tenant: z.string() }),
      preset: { tenant: 'acme' },
      execute: ({ word, tenant }) => `${word} of ${tenant.length}`,
    });
    const { model, agent } = setUp([calls('find', { word: 'tea' }), 'Done.'], { tools: [find] });
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('find', 'tea of 4')}`);
    expect(JSON.stringify(model.requests)).not.toMatch(/tenant|acme/);
  });

  test('only the tools that the agent call allows are described', async () => {
    const { model, agent } = setUp(['Done.'], {
      tools: [mail, weather],
      systemPrompt: 'Tools: ${tools_description}!',
    });
    await agent.call('Go.', { allowTools: ['weather'] });
    expect(systemOf(model, 0)).toContain('Weather of a city.');
    expect(systemOf(model, 0)).not.toContain('Sends a mail.');
  });
});

describe('around the loop', () => {
  test('the result has the steps of its agent call alone, with corrections', async () => {
    const { agent } = setUp([echoes('1'), 'a1', '{}', echoes('2'), 'a2', 'a3']);
    await agent.call('q1');
    const { reactMemory } = await agent.call('q2');
    expect(reactMemory?.map(({ role }) => role)).toEqual([
      'assistant',
      'user',
      'assistant',
      'tool',
    ]);
    expect((await agent.call('q3')).reactMemory).toEqual([]);
  });

  test('the friendly text is the answer if the request after the last round fails', async () => {
    const { agent, model } = setUp([echoes('x'), { error: new Error('Down.') }, 'Hello.'], {
      preset: { maxRounds: 1, friendlyErrorText: 'Sorry!' },
    });
    const { text, reason, error } = await agent.call('q1');
    expect([text, reason, error?.message]).toEqual(['Sorry!', 'max-iterations', 'Down.']);
    await agent.call('q2');
    expect(said(model, 2)).toEqual(['user: q1', 'assistant: Sorry!', 'user: q2']);
  });

  test('the friendly text may depend on the error, and reaches readers of a stream', async () => {
    const { agent } = setUp([{ error: new Error('Down.') }], {
      preset: { friendlyErrorText: ({ message }) => `Sorry: ${message}` },
    });
    const { result } = await read(agent.stream('Go.', { throwOnError: false }));
    expect([result.text, result.reason]).toEqual(['Sorry: Down.', 'error']);
  });

  test('a seventeenth agent call waits, and may be aborted while it waits', async () => {
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const model = new ScriptedModel(
      Array.from({ length: 17 }, () => ({ wait: opened, text: 'Hi.' })),
    );
    const use = [oxygent()];
    const call = (signal?: AbortSignal) =>
      new ReActAgent({ name: 'oxy', model, use }).call('Go.', signal ? { signal } : {});
    const running = Array.from({ length: 16 }, () => call());
    const impatient = new AbortController();
    const waiting = call(impatient.signal);
    const patient = call();
    await expect.poll(() => model.requests.length).toBe(16);
    impatient.abort();
    expect((await waiting).reason).toBe('aborted');
    expect(model.requests).toHaveLength(16);
    open();
    await Promise.all(running);
    expect((await patient).text).toBe('Hi.');
  });

  test('an interrupt lets the running tools of a list finish, and asks nothing more', async () => {
    const stop = tool({
      name: 'stop',
      description: 'Interrupts.',
      input: z.object({}),
      execute: (_, context) => context.interrupt('Stopped.'),
    });
    const { model, agent } = setUp([list(calls('stop'), echoes('x'))], { tools: [stop, echo] });
    const { text, reason, reactMemory } = await agent.call('Go.');
    expect([text, reason, model.requests.length]).toEqual(['Stopped.', 'interrupted', 1]);
    expect(reactMemory?.filter(({ role }) => role === 'tool')).toHaveLength(2);
  });

  test('an interrupt in the middle of a reply drops the reply', async () => {
    const { model, agent } = setUp([
      [{ text: 'Half a ' }, { wait: async () => void agent.interrupt(), text: 'reply.' }],
      'Hello.',
    ]);
    const { text, result } = await read(agent.stream('q1'));
    expect(result.reason).toBe('interrupted');
    expect(text).toBe(result.text);
    expect(text).not.toContain('Half');
    await agent.call('q2');
    expect(said(model, 1)).toEqual(['user: q2']);
  });

  test('an abort ends the wait before a failed tool runs again', async () => {
    vi.useFakeTimers();
    const run = vi.fn(() => {
      throw new Error('Busy.');
    });
    const busy = tool({ name: 'busy', description: 'Fails.', input: z.object({}), execute: run });
    const { agent } = setUp([calls('busy'), 'Hello.'], { tools: [busy] });
    const controller = new AbortController();
    const call = agent.call('Go.', { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(500);
    controller.abort();
    expect((await call).reason).toBe('aborted');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(run).toHaveBeenCalledTimes(1);
    expect((await agent.call('Hello?')).text).toBe('Hello.');
  });

  test('failed tools of a list wait for their second try together', async () => {
    vi.useFakeTimers();
    const { model, agent } = setUp([list(calls('broken'), calls('broken')), 'Done.']);
    const call = agent.call('Go.');
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await call).text).toBe('Done.');
    expect(model.requests).toHaveLength(2);
  });

  test('a list runs one by one if the agent says so, with the same observation', async () => {
    const order: string[] = [];
    const note = tool({
      name: 'note',
      description: 'Notes.',
      input: z.object({ text: z.string() }),
      async execute({ text }) {
        order.push(`${text} starts`);
        await Promise.resolve();
        order.push(`${text} ends`);
        return text;
      },
    });
    const both = list(calls('note', { text: 'a' }), calls('note', { text: 'b' }));
    for (const parallelTools of [1, 2]) {
      const { model, agent } = setUp([both, 'Done.'], { tools: [note], limits: { parallelTools } });
      await agent.call('Go.');
      expect(said(model, 1).at(-1)).toBe(
        `user: ${observed('note', 'a')}\n\n${observed('note', 'b')}`,
      );
    }
    expect(order.slice(0, 4)).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
    expect(order.slice(4)).toEqual(['a starts', 'b starts', 'a ends', 'b ends']);
  });

  test('agent calls that wait for a person do not take the places of others', async () => {
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    const model = new ScriptedModel([...Array.from({ length: 16 }, () => calls('ask')), 'Hi.']);
    const use = [oxygent()];
    const agentOf = () => new ReActAgent({ name: 'oxy', model, tools: [ask], use });
    const waiting = await Promise.all(Array.from({ length: 16 }, () => agentOf().call('Go.')));
    expect(waiting.every(({ reason }) => reason === 'suspended')).toBe(true);
    expect((await agentOf().call('Go.')).text).toBe('Hi.');
  });

  test('an agent call has no time limit of its own, only each tool call has one', async () => {
    vi.useFakeTimers();
    const slow = tool({
      name: 'slow',
      description: 'Takes long.',
      input: z.object({}),
      execute: () => new Promise<string>((resolve) => setTimeout(resolve, 3_000_000, 'Slow.')),
    });
    const { model, agent } = setUp([calls('slow'), calls('slow'), 'Done.'], { tools: [slow] });
    const call = agent.call('Go.', { throwOnError: false });
    await vi.advanceTimersByTimeAsync(6_000_000);
    expect((await call).text).toBe('Done.');
    expect(said(model, 2).at(-1)).toBe(`user: ${observed('slow', 'Slow.')}`);
  });

  test('events come in the order: reasoning, acting, reasoning, answer', async () => {
    const { agent } = setUp([list(echoes('a'), echoes('b')), '{}', 'Done.']);
    const { types } = await read(agent.stream('Go.'));
    const rounds = [
      'pre-reasoning post-reasoning pre-acting pre-acting post-acting post-acting',
      'pre-reasoning post-reasoning',
      'pre-reasoning post-reasoning',
    ];
    expect(types.filter((type) => !/chunk|step-reset/.test(type)).join(' ')).toBe(
      ['run-start pre-call', ...rounds, 'post-call run-end'].join(' '),
    );
  });

  test('a sub-agent answers in a list of tool calls, also with the same preset', async () => {
    const use = [oxygent()];
    const child = new ReActAgent({
      name: 'helper',
      model: new ScriptedModel([echoes('deep'), 'It is deep.']),
      tools: [echo],
      use,
    });
    const model = new ScriptedModel([
      list(calls('call_helper', { message: 'How deep?' }), echoes('x')),
      'Done.',
    ]);
    const tools = [agentTool(child, { description: 'Helps.' }), echo];
    const agent = new ReActAgent({ name: 'oxy', model, tools, use });
    expect((await agent.call('Go.')).toolsUsed).toEqual(['call_helper', 'echo']);
    const results = said(model, 1).at(-1) ?? '';
    expect(results).toMatch(/^user: Tool \[call_helper\] execution result: .*It is deep\./s);
    expect(results).toContain(observed('echo', 'x'));
  });

  test('a sub-agent that fails runs once more, and then its failure is the observation', async () => {
    vi.useFakeTimers();
    const down = { error: new Error('Down.') };
    const childModel = new ScriptedModel([down, down]);
    const child = new ReActAgent({ name: 'helper', model: childModel, use: [oxygent()] });
    const { model, agent } = setUp([calls('call_helper', { message: 'Hi' }), 'Done.'], {
      tools: [agentTool(child, { description: 'Helps.' })],
    });
    const call = agent.call('Go.');
    await vi.runAllTimersAsync();
    expect((await call).text).toBe('Done.');
    expect(said(model, 1).at(-1)).toContain('Down.');
    childModel.assertDone();
  });

  test('a reader that leaves during a tool call ends it, and the agent can be called again', async () => {
    const { model, agent } = setUp([echoes('x'), 'Hello.']);
    for await (const event of agent.stream('q1')) if (event.type === 'pre-acting') break;
    await agent.call('q2');
    expect(said(model, 1)).toEqual(['user: q2']);
  });

  test('a message that arrives during a round follows the observation of the round', async () => {
    const { model, agent } = setUp([echoes('x'), 'Done.']);
    const stream = agent.stream('Go.');
    for await (const event of stream)
      if (event.type === 'post-acting') agent.interrupt({ mode: 'inject', messages: 'In French.' });
    const texts = said(model, 1);
    expect(texts.slice(0, 2)).toEqual(['user: Go.', `assistant: ${echoes('x')}`]);
    expect(texts.slice(2).join('\n')).toContain(observed('echo', 'x'));
    expect(texts.at(-1)).toContain('In French.');
  });

  test('a paused agent call continues from its steps when the agent is called again', async () => {
    const { model, agent } = setUp([echoes('x'), 'Done.']);
    const remove = agent.addHook({
      on: { 'post-acting': () => void agent.interrupt({ mode: 'pause' }) },
    });
    expect((await agent.call('Go.')).reason).toBe('suspended');
    remove();
    const { text, reactMemory } = await agent.call();
    expect(text).toBe('Done.');
    expect(said(model, 1)).toEqual([
      'user: Go.',
      `assistant: ${echoes('x')}`,
      `user: ${observed('echo', 'x')}`,
    ]);
    expect(reactMemory?.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });

  test('an input that a hook refuses never reaches the model', async () => {
    const { model, agent } = setUp(['Hello.']);
    const remove = agent.addHook({
      on: { 'pre-call': (_event, { reject }) => reject('Not now.') },
    });
    expect((await agent.call('Go.', { throwOnError: false })).reason).toBe('rejected');
    expect(model.requests).toHaveLength(0);
    remove();
    await agent.call('Again.');
    expect(said(model, 0)).toEqual(['user: Again.']);
  });

  test('a processed answer is what the caller and later agent calls get', async () => {
    const { model, agent } = setUp(['hello', 'Bye.']);
    agent.addHook({
      on: {
        'post-call': (event) => ({
          ...event,
          message: {
            ...event.message,
            content: [{ type: 'text', text: textOf(event.message).toUpperCase() }],
          },
        }),
      },
    });
    expect((await agent.call('q1')).text).toBe('HELLO');
    await agent.call('q2');
    expect(said(model, 1)).toEqual(['user: q1', 'assistant: HELLO', 'user: q2']);
  });
});
