import { expect, test } from 'vitest';
import type { AgentOptions, CallOptions } from '../../../react-agent/agent-options.ts';
import { ReActAgent } from '../../../react-agent/react-agent.ts';
import { summarizeHistory } from '../../../context/summarize-history.ts';
import { outputGuards, lengthRule } from '@isoloop/guards';
import { assistantMessage, systemMessage, userMessage, textOf } from '../../../message/msg.ts';
import { answerFromObservations } from '../../../../../presets/src/oxygent/answer-from-observations.ts';
import { prepending } from '@test/support/prepending.ts';
import { errorHints } from '../../../results/error-hints.ts';
import { checkAnswers } from '../../../text-protocol/check-answers.ts';
import { reuseResults } from '../../../results/reuse-results.ts';
import { jsonMode } from '../../../output/json-and-yaml-mode.ts';
import { structured } from '../../../output/structured.ts';
import { ScriptedModel, type ScriptedReply } from '../../../testing/scripted-model.ts';
import { tool } from '../../../tool/tool.ts';
import { multiAgent } from '../multi-agent.ts';

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  execute: () => 'found',
});
const fails = tool({
  name: 'fails',
  description: 'Fails.',
  input: { type: 'object' },
  execute: () => {
    throw new Error('no');
  },
});
const value = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
const looks: ScriptedReply = { toolCalls: [{ name: 'look', input: {} }] };

interface Case {
  readonly replies: readonly ScriptedReply[];
  readonly agent?: Partial<AgentOptions>;
  readonly call?: CallOptions;
  /** Text that stands alone in the last request, outside the history. */
  readonly own: RegExp;
}

const cases: Readonly<Record<string, Case>> = {
  'an instruction of the call': {
    replies: ['ok'],
    call: { instructions: [userMessage('Be brief.')] },
    own: /^Be brief\.$/,
  },
  'a message that middleware recalls': {
    replies: ['ok'],
    agent: {
      use: [prepending(async () => [userMessage('Ann likes tea.')])],
    },
    own: /^Ann likes tea\.$/,
  },
  "the summary's prompt": {
    replies: [looks, 'ok'],
    agent: { limits: { iterations: 1 } },
    own: /^Your steps are used up/,
  },
  'the question with observations': {
    replies: [looks, 'ok'],
    agent: { limits: { iterations: 1 }, onLimit: answerFromObservations() },
    own: /^Question:/,
  },
  'the reminder of structured output': {
    replies: ['7', { toolCalls: [{ name: 'generate_response', input: { n: 7 } }] }],
    call: { output: structured(value) },
    own: /^Give your answer now/,
  },
  'the reminder of structured output at the limit': {
    replies: [looks, { toolCalls: [{ name: 'generate_response', input: { n: 7 } }] }],
    agent: { limits: { iterations: 1 } },
    call: { output: structured(value) },
    own: /^Give your answer now/,
  },
  'the correction of a JSON answer': {
    replies: ['seven', '{"n":7}'],
    call: { output: jsonMode(value) },
    own: /^Your answer does not fit/,
  },
  'the correction of a refused answer': {
    replies: ['no', 'yes'],
    agent: {
      use: [checkAnswers({ check: (answer) => (answer === 'no' ? 'Think again.' : undefined) })],
    },
    own: /^Think again\.$/,
  },
  "an output guard's question": {
    replies: ['no', 'A longer answer.'],
    agent: { use: [outputGuards([lengthRule({ min: 10, tooShort: 'retry' })])] },
    own: /^Your answer has/,
  },
  'a hint about a failed tool': {
    replies: [{ toolCalls: [{ name: 'fails', input: {} }] }, 'ok', 'ok', 'ok'],
    agent: { use: [errorHints()] },
    own: /^Do not answer yet|^A tool call failed/,
  },
  'a hint about a repeated call': {
    replies: [looks, looks, 'ok'],
    agent: { use: [reuseResults()] },
    own: /^You made this tool call before/,
  },
};

test.each(Object.entries(cases))(
  '%s stands outside the history of the speakers',
  async (_, given) => {
    const model = new ScriptedModel(given.replies);
    const agent = new ReActAgent({
      name: 'Cal',
      model: multiAgent(model, { header: '' }),
      systemPrompt: 'Be kind.',
      tools: [look, fails],
      ...given.agent,
    });
    await agent.observe([
      userMessage('Hi.', { name: 'Ann' }),
      assistantMessage('Hm.', { name: 'Bob' }),
    ]);
    await agent.call(userMessage('Well?', { name: 'Ann' }), given.call);
    const texts = model.requests
      .at(-1)!
      .messages.filter(({ role }) => role === 'user')
      .map((message) => textOf(message));
    expect(texts.filter((text) => given.own.test(text))).toHaveLength(1);
    const histories = texts.filter((text) => text.startsWith('<history>'));
    expect(histories.join('\n')).not.toContain('user:');
    if (given.own.source !== '^Question:') expect(histories.join()).toContain('Ann: Well?');
  },
);

test('the request for a summary of the context has no history of speakers', async () => {
  const summarizer = new ScriptedModel(['Ann and Bob met.']);
  const model = new ScriptedModel(['ok']);
  const policy = summarizeHistory({
    model: multiAgent(summarizer),
    maxTokens: 500,
    summaryTokens: 40,
    keep: 1,
  });
  const agent = new ReActAgent({ name: 'Cal', model: multiAgent(model), use: [policy] });
  await agent.observe([userMessage('long '.repeat(500)), assistantMessage('Hm.')]);
  await agent.call('Well?');
  expect(textOf(summarizer.requests[0]!.messages[1]!)).toMatch(/^<conversation>/);
});

test('a system instruction of the call stays a system message', async () => {
  const model = new ScriptedModel(['ok']);
  const agent = new ReActAgent({ name: 'Cal', model: multiAgent(model) });
  await agent.call('Hi.', { instructions: [systemMessage('Be brief.')] });
  expect(model.requests[0]!.messages.map(({ role }) => role)).toEqual(['system', 'user']);
});
