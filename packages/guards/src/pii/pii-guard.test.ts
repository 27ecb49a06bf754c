import { expect, test, vi } from 'vitest';
import { ReActAgent, textOf, toolResultsOf, tool, type ToolOutput } from '@isoloop/core';
import { fallback } from '@isoloop/core/resilience';
import { historyFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { piiGuard, type PiiGuardOptions } from './pii-guard.ts';

const mail = 'ann@example.test';

function setUp(
  options: PiiGuardOptions,
  replies: readonly ScriptedReply[],
  output: ToolOutput = `Ask ${mail}`,
) {
  const model = new ScriptedModel(replies);
  const look = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => output,
  });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look],
    use: [piiGuard(options)],
  });
  const results = async (): Promise<unknown> => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages.flatMap(toolResultsOf).map((result) => [result.state, result.output]);
  };
  return { model, agent, results };
}
const look: ScriptedReply = { toolCalls: [{ name: 'look' }] };

test('by default piiGuard() masks only the input of a call', async () => {
  const { agent, model, results } = setUp({}, [look, `It is ${mail}`]);
  const { text } = await agent.call(`I am ${mail}`);
  expect(textOf(model.requests[0]!.messages[0]!)).toBe('I am [EMAIL]');
  expect([text, await results()]).toEqual([`It is ${mail}`, [['success', `Ask ${mail}`]]]);
});

test('with all options, piiGuard() masks input, tool results and replies, also streamed replies', async () => {
  const { agent, model, results } = setUp({ output: true, toolResults: true, action: 'mask' }, [
    look,
    { text: `It is ${mail} indeed` },
  ]);
  let said = '';
  for await (const event of agent.stream(`I am ${mail}`)) {
    if (event.type === 'reasoning-chunk') said += event.delta;
    if (event.type === 'post-acting') expect(event.result.output).toBe('Ask a***@example.test');
  }
  expect(said).toBe('It is a***@example.test indeed');
  expect(JSON.stringify([model.requests, await agent.messages()])).not.toContain(mail);
  expect(await results()).toEqual([['success', 'Ask a***@example.test']]);
});

test('piiGuard() can be turned off for each of input, output and tool results', async () => {
  const { agent, model } = setUp({ input: false, toolResults: true }, [look, mail]);
  const { text } = await agent.call(mail);
  expect(textOf(model.requests[0]!.messages[0]!)).toBe(mail);
  expect([text, model.requests[1]!.messages.flatMap(toolResultsOf)[0]!.output]).toEqual([
    mail,
    'Ask [EMAIL]',
  ]);
});

test('with the action reject, input and replies are rejected, and a tool result is withheld', async () => {
  const blocking: PiiGuardOptions = { action: 'reject', output: true, toolResults: true };
  const input = setUp(blocking, []);
  expect(await input.agent.call(mail)).toMatchObject({
    reason: 'rejected',
    error: { details: { stage: 'piiGuard' } },
  });
  const reply = setUp(blocking, [mail]);
  expect(await reply.agent.call('Who?')).toMatchObject({
    reason: 'rejected',
    error: { details: { category: 'OUTPUT_REJECTED' } },
  });
  const result = setUp(blocking, [look, 'fine']);
  expect(await result.agent.call('Who?')).toMatchObject({ reason: 'stop', text: 'fine' });
  expect(await result.results()).toEqual([
    ['error', 'Error: The result contains personal data and was withheld.'],
  ]);
  const clean = setUp(blocking, [look, 'fine'], 'Nobody');
  await clean.agent.call('Who?');
  expect(await clean.results()).toEqual([['success', 'Nobody']]);
});

test('piiGuard() checks a tool result that is the answer like a reply', async () => {
  const { agent } = setUp({ output: true }, [look]);
  expect(await agent.call('Who?', { returnDirect: true })).toMatchObject({
    reason: 'return-direct',
    text: 'Ask [EMAIL]',
  });
  const blocked = setUp({ output: true, action: 'reject' }, [look]);
  expect(await blocked.agent.call('Who?', { returnDirect: true })).toMatchObject({
    reason: 'rejected',
  });
});

test('piiGuard() checks the text blocks of a tool result and does not change media', async () => {
  const image = { type: 'image', source: { type: 'url', url: `https://x.test/?${mail}` } } as const;
  const { agent, results } = setUp({ toolResults: true }, [look, 'fine'], {
    content: [{ type: 'text', text: mail }, image],
  });
  await agent.call('Who?');
  expect(await results()).toEqual([['success', [{ type: 'text', text: '[EMAIL]' }, image]]]);
});

test('piiGuard() accepts the kinds and strategies of piiRule()', async () => {
  const { agent, model } = setUp({ kinds: ['ip', 'mac', 'url'], action: 'redact' }, ['ok']);
  await agent.call(`10.0.0.1 00:1A:2B:3C:4D:5E https://x.test/ ${mail}`);
  expect(textOf(model.requests[0]!.messages[0]!)).toBe(`[IP] [MAC] [URL] ${mail}`);
});

test('piiGuard() withholds a tool result that it cannot check', async () => {
  const onError = vi.fn<(error: unknown, stage: string) => void>();
  const { agent, results } = setUp({ toolResults: true, onError }, [look, 'fine']);
  // This hook runs before the guard and puts a number where a name belongs.
  const source = { type: 'url', url: 'https://example.com/a.pdf' } as const;
  const file = { type: 'file', source, name: 5 as never } as const;
  agent.addHook({
    on: {
      'post-acting': {
        priority: -20_000,
        handle: (event) => ({
          ...event,
          result: { ...event.result, output: [file] },
        }),
      },
    },
  });
  await agent.call('Who?');
  expect(await results()).toEqual([
    ['error', 'Error: The result contains personal data and was withheld.'],
  ]);
  expect(onError).toHaveBeenCalledOnce();
});

test('the agent rejects piiGuard() after fallback(), whose models the guard could not check', () => {
  const model = new ScriptedModel([]);
  const other = new ScriptedModel([]);
  expect(
    () =>
      new ReActAgent({
        name: 'a',
        model,
        use: [fallback([other]), piiGuard({ output: true })],
      }),
  ).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test.each([
  { input: 'yes' },
  { output: 1 },
  { toolResults: null },
  { kinds: ['shoe'] },
  { lookahead: -1 },
  { locale: 5 },
])('piiGuard() rejects the options %o', (options) => {
  expect(() => piiGuard(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
