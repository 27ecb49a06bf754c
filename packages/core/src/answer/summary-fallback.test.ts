import { expect, test } from 'vitest';
import { orderFaults } from '@test/support/order-faults.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { AgentError } from '../error/agent-error.ts';
import { userErrorText } from '../error/user-error-text.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { summarize } from './summarize.ts';
import { summaryFallback, type SummaryFallbackOptions } from './summary-fallback.ts';
import type { OnLimit } from './on-limit.ts';
import { textOf } from '../message/msg.ts';
import { structured } from '../output/structured.ts';
import { textStream } from '../stream/text-stream.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { answerFromObservations } from '../../../presets/src/oxygent/answer-from-observations.ts';

const input = { type: 'object' } as const;
const down = new AgentError('MODEL_SERVER', 'The server is down.', { retryable: true });

function setUp(
  last: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
  given?: SummaryFallbackOptions,
) {
  const { agent, model } = scriptedAgent(last, {
    limits: { iterations: 0 },
    ...options,
    use: [summaryFallback(given), ...(options.use ?? [])],
  });
  return { agent, model };
}

const broken: ScriptedReply = [{ text: 'Half a ', error: down }];
const fallback = 'Maximum iterations (0) reached. Error generating summary: The server is down.';

test.for<[what: string, onLimit: OnLimit | undefined]>([
  ['no `onLimit`', undefined],
  ['summarize()', summarize({ prompt: 'Sum up.' })],
  ['answerFromObservations()', answerFromObservations()],
  ['a function that throws', () => Promise.reject(down)],
])(
  'with %s, a failed summary becomes a stored answer that quotes the error',
  async ([, onLimit]) => {
    const { agent } = setUp([broken, broken], onLimit && { onLimit });
    const result = await agent.call('go');
    const error = { ...down.toJSON() };
    expect(result).toMatchObject({ reason: 'max-iterations', text: fallback, error });
    const messages = await agent.messages();
    expect(messages.map(textOf)).toEqual(['go', fallback]);
    expect(messages.at(-1)).toEqual(result.message);
    expect(historyFaults(messages)).toEqual([]);
  },
);

test('readers get the text after a `step-reset`, and `run-end` has the error', async () => {
  const { agent } = setUp([broken, broken]);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { error: down.toJSON() } });
  expect(events.filter(({ type }) => type === 'step-reset')).toHaveLength(1);
  const told: string[] = [];
  for await (const text of textStream(agent.stream('again'))) told.push(text);
  expect(told.join('')).toContain(fallback);
});

test('at the limit of tokens, the text names this limit', async () => {
  const { agent } = setUp([{ toolCalls: [{ name: 'none' }] }, broken], {
    limits: { tokens: 15 },
  });
  expect(await agent.call('go')).toMatchObject({
    reason: 'limit',
    text: 'Maximum tokens (15) reached. Error generating summary: The server is down.',
    error: { code: 'MODEL_SERVER' },
  });
});

test('an empty summary is not an error', async () => {
  const result = await setUp(['']).agent.call('go');
  expect(result.text).toBe('Maximum iterations (0) reached. Unable to generate summary.');
  expect(result).not.toHaveProperty('error');
});

test('keys in the error are masked in the answer, the log, the events and the result', async () => {
  const key = 'sk-proj-9f8e7d6c5b4a39281706';
  const error = new AgentError('MODEL_AUTH', `Incorrect API key provided: ${key}.`);
  const { agent } = setUp([{ error }]);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  expect(events.at(-1)).toMatchObject({ result: { error: { code: 'MODEL_AUTH' } } });
  expect(JSON.stringify([events, await agent.messages()])).not.toContain(key);
});

test.for<[options: SummaryFallbackOptions, text: string]>([
  [{ text: 'Sorry.' }, 'Sorry.'],
  [{ text: ({ code }) => `Failed with ${code}.` }, 'Failed with MODEL_SERVER.'],
  [{ text: userErrorText }, userErrorText(down)],
  [
    {
      text: () => {
        throw new Error('no words');
      },
    },
    'Something went wrong on my side. Please try again.',
  ],
])('`text` replaces the text of the answer, and the result has the error: %#', async (row) => {
  const [options, text] = row;
  const { agent } = setUp([broken], {}, options);
  const error = { code: 'MODEL_SERVER', message: down.message };
  expect(await agent.call('go')).toMatchObject({ text, error });
  expect((await agent.messages()).map(textOf)).toEqual(['go', text]);
});

test.for(['CONFIGURATION', 'HOOK_ERROR', 'STORAGE_FAILED', 'LIMIT_EXCEEDED'] as const)(
  'a failure with the code %s fails the call',
  async (code) => {
    const onLimit = () => Promise.reject(new AgentError(code, 'Not the model.'));
    await expect(setUp([], { onLimit }).agent.call('go')).rejects.toMatchObject({ code });
  },
);

test('a rejection by an output guard rejects the call, and an interrupt interrupts it', async () => {
  const guarded = setUp([{ error: new AgentError('GUARD_REJECTED', 'Not allowed.') }]);
  expect(await guarded.agent.call('go')).toMatchObject({ reason: 'rejected' });
  const { agent } = setUp([{ text: 'Half a ', hang: true }]);
  agent.addHook({ on: { 'summary-chunk': () => void agent.interrupt('Stop.') } });
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted', text: 'Stop.' });
});

test('a request for the value of an `output` at the limit still fails the call', async () => {
  const call = setUp([broken]).agent.call('go', { output: structured(input) });
  await expect(call).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('with an output mode in `use`, the agent is not created, and the error names the part that stands twice', () => {
  const message = `Two middleware in \`use\` are named "answerAtLimit". Remove one, or give one another name: { ...it, name: 'other' }.`;
  expect(() => setUp([], { use: [...structured(input)] })).toThrow(message);
});

test('an abort ends the call while an `onLimit` hangs', async () => {
  const controller = new AbortController();
  const onLimit = (): Promise<never> => {
    controller.abort();
    return new Promise(() => {});
  };
  const { agent } = setUp([], { onLimit });
  expect(await agent.call('go', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
});

test.for([{ text: 5 }, null])('summaryFallback() rejects the options %j', (options) => {
  expect(() => summaryFallback(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
});
