import { expect, test, vi } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { toolResultsOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool, type ToolContext } from '../tool/tool.ts';
import { structured } from '../output/structured.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { rewordToolErrors, type RewordToolErrorsOptions } from './reword-tool-errors.ts';
import { toolRetry } from '../resilience/tool-retry.ts';

function setUp(
  work: (context: ToolContext) => unknown,
  options: RewordToolErrorsOptions = {},
  {
    replies,
    timeoutMs,
  }: { readonly replies?: readonly ScriptedReply[]; readonly timeoutMs?: number } = {},
) {
  const step = tool({
    name: 'step',
    description: '',
    input: { type: 'object' },
    execute: (_input, context) => work(context) as string,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const { agent, model } = scriptedAgent(
    replies ?? [{ toolCalls: [{ name: 'step', input: { n: 1 } }] }, 'done'],
    { tools: [step], use: [rewordToolErrors(options)] },
  );
  const outcome = async (): Promise<unknown> => {
    const { text } = await agent.call('Go');
    const messages = await agent.messages();
    expect([text, historyFaults(messages)]).toEqual(['done', []]);
    return messages.flatMap(toolResultsOf).map(({ state, output }) => [state, output]);
  };
  return { agent, model, outcome };
}

function throwing(error: unknown): () => never {
  return () => {
    throw error;
  };
}

test('by default the model gets the failure of a tool and its reason', async () => {
  expect(await setUp(throwing(new Error('no paper'))).outcome()).toEqual([
    ['error', 'Tool failed: no paper'],
  ]);
  expect(await setUp(throwing('a text')).outcome()).toEqual([['error', 'Tool failed: a text']]);
});

test('rewordToolErrors() does not change successful results', async () => {
  expect(await setUp(() => 'Error: but only in words').outcome()).toEqual([
    ['success', 'Error: but only in words'],
  ]);
});

test('a text of `format` that is missing does not end the agent call, and the model gets the default text', async () => {
  const format = (error: unknown): string => (error as Error).message;
  expect(await setUp(throwing('a text'), { format }).outcome()).toEqual([
    ['error', 'Tool failed: a text'],
  ]);
});

test('`format` and `endsCall` may be async', async () => {
  const format = async (error: unknown): Promise<string> => `Sorry: ${String(error)}`;
  const { outcome } = setUp(throwing('a text'), { format, endsCall: async () => false });
  expect(await outcome()).toEqual([['error', 'Sorry: a text']]);
});

test('`format` can write the text from the error and the tool call', async () => {
  const error = new TypeError('fetch failed');
  const format = vi.fn<NonNullable<RewordToolErrorsOptions['format']>>(
    () => 'The printer is off. Ask for another one.',
  );
  expect(await setUp(throwing(error), { format }).outcome()).toEqual([
    ['error', 'The printer is off. Ask for another one.'],
  ]);
  expect(format.mock.calls).toEqual([
    [error, { name: 'step', toolUseId: 'call_1', input: { n: 1 } }],
  ]);
});

test('a timeout is a failure, whether the tool ends or not', async () => {
  const format = (error: unknown): string => (AgentError.is(error) ? error.code : 'other');
  const hanging = setUp(() => new Promise(() => {}), { format }, { timeoutMs: 1 });
  expect(await hanging.outcome()).toEqual([['error', 'TOOL_TIMEOUT']]);
  const rejecting = ({ signal }: ToolContext): Promise<never> =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new Error('gone'))),
    );
  expect(await setUp(rejecting, { format }, { timeoutMs: 1 }).outcome()).toEqual([
    ['error', 'TOOL_TIMEOUT'],
  ]);
});

test('a result without a JSON form is a failure', async () => {
  const format = (error: unknown): string => `${AgentError.from(error).message.includes('BigInt')}`;
  expect(await setUp(() => ({ n: 1n }), { format }).outcome()).toEqual([['error', 'true']]);
});

test('errors for which `endsCall` returns true end the call', async () => {
  const cause = new RangeError('disk full');
  const { agent } = setUp(throwing(cause), { endsCall: (error) => error instanceof RangeError });
  await expect(agent.call('Go')).rejects.toMatchObject({
    code: 'TOOL_ERROR',
    message: 'disk full',
    cause,
  });
  const messages = await agent.messages();
  expect(historyFaults(messages)).toEqual([]);
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ output: 'Error: disk full' }]);
  expect(
    await setUp(throwing(new Error('no')), {
      endsCall: (error) => error instanceof RangeError,
    }).outcome(),
  ).toEqual([['error', 'Tool failed: no']]);
});

test('a fatal error still ends the call', async () => {
  const format = vi.fn<() => string>(() => 'words');
  const { agent } = setUp(throwing(new AgentError('TOOL_ERROR', 'closed')), { format });
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'TOOL_ERROR', message: 'closed' });
  expect(format).not.toHaveBeenCalled();
});

test('if `format` or `endsCall` fails, the usual text is kept, and `onError` gets the failure', async () => {
  const onError = vi.fn<(error: AgentError) => void>();
  const format = throwing(new Error('no words'));
  expect(await setUp(throwing(new Error('no')), { format, onError }).outcome()).toEqual([
    ['error', 'Error: no'],
  ]);
  expect(await setUp(throwing(new Error('no')), { endsCall: format, onError }).outcome()).toEqual([
    ['error', 'Error: no'],
  ]);
  expect(onError.mock.calls.map(([{ message }]) => message)).toEqual(['no words', 'no words']);
});

test('rewordToolErrors() applies only to the named tools', async () => {
  expect(await setUp(throwing(new Error('no')), { tools: ['other'] }).outcome()).toEqual([
    ['error', 'Error: no'],
  ]);
});

test.each(['first', 'last'])(
  'with retries, only the text of the last attempt counts, if toolRetry() is the %s middleware',
  async (place) => {
    const busy = new AgentError('INTERNAL', 'busy', { retryable: true });
    const extensions = [toolRetry({ sleep: async () => {} }), rewordToolErrors()];
    const outcomeOf = async (failures: number): Promise<unknown> => {
      let tries = 0;
      const execute = (): string => ((tries += 1) <= failures ? throwing(busy)() : 'fine');
      const step = tool({ name: 'step', description: '', input: { type: 'object' }, execute });
      const { agent } = scriptedAgent([{ toolCalls: [{ name: 'step' }] }, 'done'], {
        tools: [step],
        use: [...(place === 'first' ? extensions : extensions.toReversed())],
      });
      await agent.call('Go');
      return [tries, (await agent.messages()).flatMap(toolResultsOf)[0]!.output];
    };
    expect(await outcomeOf(2)).toEqual([3, 'fine']);
    expect(await outcomeOf(9)).toEqual([3, 'Tool failed: busy']);
  },
);

test('each of several parallel tool calls has its own text, which the post-acting event contains', async () => {
  const { agent } = setUp(
    ({ toolUseId }) => throwing(new Error(toolUseId))(),
    { format: (error, { toolUseId }) => `${toolUseId}: ${String(error)}` },
    { replies: [{ toolCalls: [{ name: 'step' }, { name: 'step' }] }, 'done'] },
  );
  const said: unknown[] = [];
  for await (const event of agent.stream('Go'))
    if (event.type === 'post-acting') said.push(event.result.output);
  expect(said).toEqual(['call_1: Error: call_1', 'call_2: Error: call_2']);
});

test('an abort and a suspension are not failures of a tool', async () => {
  const format = vi.fn<() => string>(() => 'words');
  const controller = new AbortController();
  const aborted = setUp(() => (controller.abort(), new Promise(() => {})), { format });
  expect(await aborted.agent.call('Go', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect((await aborted.agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'interrupted' },
  ]);
  const waiting = setUp(({ suspend }) => suspend('ask Ann'), { format });
  expect(await waiting.agent.call('Go')).toMatchObject({ reason: 'suspended' });
  expect(format).not.toHaveBeenCalled();
});

test('rewordToolErrors() does not apply to the output tool of structured()', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
  } as const;
  const { agent } = scriptedAgent(
    [{ toolCalls: [{ name: 'generate_response', input: { n: 1 } }] }],
    { use: [rewordToolErrors({ format: () => 'words' })] },
  );
  expect(await agent.call('Go', { output: structured(schema) })).toMatchObject({
    output: { n: 1 },
  });
});

test.each([
  { tools: 'step' },
  { tools: [7] },
  { format: 'x' },
  { endsCall: true },
  { onError: 1 },
  null,
])('rewordToolErrors() rejects the options %o', (options) => {
  expect(() => rewordToolErrors(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
