import { expect, test } from 'vitest';
import {
  ReActAgent,
  textOf,
  tool,
  userMessage,
  type AgentOptions,
  type MediaBlock,
  type Msg,
} from '@isoloop/core';
import { answersOnly } from '@isoloop/core/context';
import { structured } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { historyFaults } from '@test/support/history-faults.ts';
import { prepending } from '@test/support/prepending.ts';
import { calls } from '@test/support/scripted-agent.ts';
import { answerFromObservations } from './answer-from-observations.ts';

const input = { type: 'object' } as const;
const image: MediaBlock = {
  type: 'image',
  source: { type: 'url', url: 'https://example.com/a.png' },
};
let seen = 0;
const look = tool({ name: 'look', description: '', input, execute: () => `seen ${++seen}` });
const fail = tool({
  name: 'fail',
  description: '',
  input,
  execute: () => Promise.reject(new Error('broken')),
});
const snap = tool({
  name: 'snap',
  description: '',
  input,
  execute: () => ({ content: [{ type: 'text', text: 'a photo' }, image] }),
});
const ask = tool({ name: 'ask', description: '', input });

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  seen = 0;
  const model = new ScriptedModel(replies);
  const onLimit = answerFromObservations();
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look, fail, snap, ask],
    onLimit,
    ...options,
  });
  return { agent, model, lastAsked: (): readonly Msg[] => model.requests.at(-1)!.messages };
}

test('at the limit, a separate request contains the question and all numbered observations of this call, without tools', async () => {
  const rounds = Array.from({ length: 17 }, () => calls('look'));
  const { agent, model, lastAsked } = setUp(['Hello.', ...rounds, 'In short.'], {
    limits: { iterations: 17 },
    systemPrompt: 'Be brief.',
    use: [answersOnly()],
  });
  await agent.call('Before');
  const result = await agent.call('What is there?', { toolChoice: 'auto', temperature: 0.1 });
  expect(result).toMatchObject({ reason: 'max-iterations', text: 'In short.', iterations: 17 });
  expect(lastAsked().map(({ role }) => role)).toEqual(['system', 'user']);
  expect(textOf(lastAsked()[0]!)).toMatch(/^Be brief\.\n\n.*observations/s);
  const numbered = Array.from({ length: 17 }, (_, n) => `${n + 1}. look: seen ${n + 1}`);
  expect(textOf(lastAsked()[1]!)).toBe(
    ['Question:', 'What is there?', '\nObservations:', ...numbered].join('\n'),
  );
  expect(model.requests.at(-1)).toMatchObject({ tools: [], temperature: 0.1 });
  expect(model.requests.at(-1)).not.toHaveProperty('toolChoice');
  expect((await agent.messages()).map(textOf).filter(Boolean)).toEqual([
    'Before',
    'Hello.',
    'What is there?',
    'In short.',
  ]);
});

test('answerFromObservations() works without observations and without a system prompt', async () => {
  const { agent, lastAsked } = setUp(['I know.'], {
    limits: { iterations: 0 },
  });
  expect(await agent.call('What is there?')).toMatchObject({
    reason: 'max-iterations',
    text: 'I know.',
  });
  expect(lastAsked().map(textOf)).toEqual([
    expect.stringMatching(/^No more tools can be called\. Answer the question now/),
    'Question:\nWhat is there?\n\nObservations: none.',
  ]);
});

test('failed observations are marked, and media of the question and of the results are kept', async () => {
  const { agent, lastAsked } = setUp([calls('fail', 'snap'), 'Done.'], {
    limits: { iterations: 1 },
  });
  await agent.call(userMessage([{ type: 'text', text: 'Like this?' }, image]));
  const text = (value: string) => ({ type: 'text', text: value });
  expect(lastAsked().at(-1)!.content).toEqual([
    text('Question:'),
    text('Like this?'),
    image,
    text('\nObservations:'),
    text('1. fail (error): Error: broken'),
    text('2. snap: a photo\n[image]'),
    image,
  ]);
});

test('the request includes recalled messages and the changes of hooks', async () => {
  const { agent, lastAsked } = setUp([calls('look'), 'Done.'], {
    limits: { iterations: 1 },
    use: [
      {
        on: {
          'pre-summary': (event) => ({
            ...event,
            messages: [...event.messages, userMessage('from a hook')],
          }),
        },
      },
      prepending(async () => [userMessage('recalled')]),
    ],
  });
  await agent.call('Go');
  expect(lastAsked().map(({ role }) => role)).toEqual(['system', 'user', 'user', 'user']);
  expect([textOf(lastAsked()[1]!), textOf(lastAsked()[3]!)]).toEqual(['recalled', 'from a hook']);
});

test('the request of a resumed call includes the earlier observations and later messages', async () => {
  const { agent, lastAsked } = setUp([calls('look', 'ask'), calls('look'), 'Done.'], {
    limits: { iterations: 1 },
  });
  const { pending } = await agent.call([userMessage('One thing.'), userMessage('Another.')]);
  agent.addHook({
    on: {
      'post-acting': ({ toolUse }) =>
        void (
          toolUse.name === 'look' && agent.interrupt({ mode: 'inject', messages: 'And this.' })
        ),
    },
  });
  const decided = await agent.call([
    { type: 'result', toolUseId: pending[0]!.toolUseId, output: 'told' },
  ]);
  expect(decided).toMatchObject({ reason: 'max-iterations', text: 'Done.' });
  const lines = [
    'Question:',
    'One thing.',
    'Another.',
    'And this.',
    '\nObservations:',
    '1. look: seen 1',
    '2. ask: told',
    '3. look: seen 2',
  ];
  expect(textOf(lastAsked().at(-1)!)).toBe(lines.join('\n'));
});

test('the correction of an unreadable reply is not part of the question', async () => {
  const { agent, lastAsked } = setUp(['Done.'], { limits: { iterations: 0 } });
  const corrected = userMessage('That is no JSON.', { metadata: { correction: 'message' } });
  await agent.call([userMessage('Go'), corrected]);
  expect(textOf(lastAsked().at(-1)!)).toBe('Question:\nGo\n\nObservations: none.');
});

test('the answer is streamed, and a reader that cancels it leaves a valid history', async () => {
  const { agent } = setUp([calls('look'), { text: 'one two three' }, 'Fine.'], {
    limits: { iterations: 1 },
  });
  const stream = agent.stream('Go');
  const types: string[] = [];
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === 'summary-chunk') stream.cancel();
  }
  expect(await stream.result).toMatchObject({ reason: 'aborted', text: 'one ' });
  expect(types).toEqual(expect.arrayContaining(['pre-summary', 'summary-chunk', 'run-end']));
  expect(types).not.toContain('post-summary');
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(await agent.call('again')).toMatchObject({ text: 'Fine.' });
});

test('an interrupt during the answer ends the call with the recovery message', async () => {
  const { agent } = setUp([{ text: 'one two three' }], { limits: { iterations: 0 } });
  agent.addHook({ on: { 'summary-chunk': () => void agent.interrupt('Stop.') } });
  expect(await agent.call('Go')).toMatchObject({ reason: 'interrupted', text: 'Stop.' });
});

test('if the model calls a tool anyway, only its text is kept, or a fixed text if there is none', async () => {
  const { agent } = setUp([{ text: 'So.', toolCalls: [{ name: 'look' }] }, calls('look')], {
    limits: { iterations: 0 },
  });
  expect((await agent.call('Go')).message.content).toEqual([{ type: 'text', text: 'So.' }]);
  expect((await agent.call('Go')).text).toBe(
    'Maximum iterations (0) reached. Unable to generate summary.',
  );
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('with structured output, the value is requested in the conversation with the observations', async () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } } } as const;
  const value = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
  const { agent, lastAsked } = setUp([calls('look'), value], { limits: { iterations: 1 } });
  expect(await agent.call('Count', { output: structured(schema) })).toMatchObject({
    reason: 'max-iterations',
    output: { n: 1 },
  });
  expect(JSON.stringify(lastAsked())).toContain('seen 1');
});
