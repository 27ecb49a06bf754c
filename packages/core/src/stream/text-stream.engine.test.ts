import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { agentTool } from '../several/agent-tool.ts';
import { AgentError } from '../error/agent-error.ts';
import type { Hook } from '../event/hook.ts';
import { textOf } from '../message/msg.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { retry } from '../resilience/retry.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { look } from '@test/support/plain-tools.ts';
import { textStream, type TextStreamOptions } from './text-stream.ts';

const down = new AgentError('MODEL_SERVER', 'HTTP 500: secret', { retryable: true });

function agentOf(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
): ReActAgent {
  return new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    tools: [look],
    ...options,
  });
}

async function textsOf(agent: ReActAgent, options?: TextStreamOptions): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const text of textStream(agent.stream('Hi'), options)) texts.push(text);
  return texts;
}

const textFrom = async (agent: ReActAgent, options?: TextStreamOptions): Promise<string> =>
  (await textsOf(agent, options)).join('');

test('textStream() streams text immediately, without thinking', async () => {
  expect(await textsOf(agentOf([{ thinking: 'I think', text: 'Hello there you' }]))).toEqual([
    'Hello ',
    'there ',
    'you',
  ]);
});

test('replies are separated by a blank line, and tools are hidden', async () => {
  expect(
    await textFrom(agentOf([{ text: 'Let me look.', toolCalls: [{ name: 'look' }] }, 'I see.'])),
  ).toBe('Let me look.\n\nI see.');
  expect(await textFrom(agentOf([{ toolCalls: [{ name: 'look' }] }, 'I see.']))).toBe('I see.');
});

test('the blocks of a message are separated as in its text', async () => {
  const text = (id: string, delta: string): ModelDelta => ({ type: 'text', id, delta });
  const finish: ModelDelta = { type: 'finish', reason: 'stop' };
  const agent = agentOf([
    { deltas: [[text('1', 'One'), text('2', 'T')], [text('2', 'wo')], [finish]] },
  ]);
  const said = await textFrom(agent);
  expect(said).toBe('One\nTwo');
  expect(said).toBe(textOf((await agent.messages()).at(-1)!));
});

test('a summary at the limit of iterations is part of the text', async () => {
  const agent = agentOf([{ text: 'Let me look.', toolCalls: [{ name: 'look' }] }, 'In short.'], {
    limits: { iterations: 1 },
  });
  expect(await textFrom(agent)).toBe('Let me look.\n\nIn short.');
});

test('the text of a child agent is not included', async () => {
  const child = agentTool(agentOf(['Between us.'], { name: 'child' }), {
    name: 'child',
    description: '',
  });
  const agent = agentOf(
    [{ toolCalls: [{ name: 'call_child', input: { message: 'Hi' } }] }, 'Done.'],
    { tools: [child] },
  );
  expect(await textFrom(agent)).toBe('Done.');
});

test('if a reply restarts, the new text follows after a blank line', async () => {
  const extensions = [retry({ sleep: async () => {}, afterFirstDelta: true })];
  expect(
    await textFrom(
      agentOf([{ text: 'Half ', error: down }, 'The whole'], { use: [...extensions] }),
    ),
  ).toBe('Half \n\nThe whole');
  expect(
    await textFrom(
      agentOf([{ thinking: 'hm', error: down }, 'The whole'], { use: [...extensions] }),
    ),
  ).toBe('The whole');
});

const rewrite = (type: 'post-reasoning' | 'post-call', change: (text: string) => string): Hook => ({
  on: {
    [type]: (event: { message: Parameters<typeof textOf>[0] }) => ({
      ...event,
      message: {
        ...event.message,
        content: [{ type: 'text', text: change(textOf(event.message)) }],
      },
    }),
  },
});

test.each<[string, (text: string) => string, string]>([
  ['a longer text is continued', (text) => `${text} More.`, 'My text. More.'],
  ['the same text is not repeated', (text) => text, 'My text.'],
  ['another text comes below', () => 'Other.', 'My text.\n\nOther.'],
  ['an empty text adds nothing', () => '', 'My text.'],
])('text that a hook changed is streamed as follows: %s', async (_what, change, expected) => {
  for (const type of ['post-reasoning', 'post-call'] as const) {
    expect(await textFrom(agentOf(['My text.'], { use: [rewrite(type, change)] }))).toBe(expected);
  }
});

test('a text that a hook adds to a reply without text is separated from the previous reply', async () => {
  const hook: Hook = {
    on: {
      'post-reasoning': (event) =>
        event.iteration === 2
          ? {
              ...event,
              message: { ...event.message, content: [{ type: 'text', text: 'Look, done.' }] },
            }
          : event,
    },
  };
  const agent = agentOf([{ text: 'Look', toolCalls: [{ name: 'look' }] }, { thinking: 'hm' }], {
    use: [hook],
  });
  expect(await textFrom(agent)).toBe('Look\n\nLook, done.');
});

test('the recovery message of an interrupt is separated from the text before it', async () => {
  const agent = agentOf([{ text: 'Half ', hang: true }]);
  let said = '';
  for await (const text of textStream(agent.stream('Hi'))) {
    said += text;
    if (text === 'Half ') agent.interrupt('Stopped.');
  }
  expect(said).toBe('Half \n\nStopped.');
});

test('a failure rejects after the text, even with `throwOnError: false`', async () => {
  for (const throwOnError of [true, false]) {
    const said: string[] = [];
    const read = async (): Promise<void> => {
      const stream = agentOf([{ text: 'Half ', error: down }]).stream('Hi', { throwOnError });
      for await (const text of textStream(stream)) said.push(text);
    };
    await expect(read()).rejects.toMatchObject({ code: 'MODEL_SERVER', retryable: true });
    expect(said).toEqual(['Half ']);
  }
});

test("with `errors: 'in-band'`, a failure is the last text and shows its code without its message", async () => {
  const errors = 'in-band';
  expect(await textFrom(agentOf([{ text: 'Half ', error: down }]), { errors })).toBe(
    'Half \n\n[MODEL_SERVER]',
  );
  expect(await textFrom(agentOf([{ error: down }]), { errors })).toBe('[MODEL_SERVER]');
  const errorText = ({ code, retryable }: { code: string; retryable: boolean }): string =>
    `${code} ${retryable}`;
  expect(await textFrom(agentOf([{ error: down }]), { errors, errorText })).toBe(
    'MODEL_SERVER true',
  );
  expect(await textFrom(agentOf([{ error: down }]), { errors, errorText: () => '' })).toBe('');
});

test('a call that fails before its run begins is also reported in band', async () => {
  const agent = agentOf([{ hang: true }]);
  const controller = new AbortController();
  const running = agent.call('First', { signal: controller.signal });
  expect(await textFrom(agent, { errors: 'in-band' })).toBe('[AGENT_BUSY]');
  controller.abort();
  await running;
});

test('readable() encodes the text as bytes for the body of a response', async () => {
  const agent = agentOf(['Grüße aus 東京 🗼']);
  expect(await new Response(textStream(agent.stream('Hi')).readable()).text()).toBe(
    'Grüße aus 東京 🗼',
  );
});

test('readable() reads nothing ahead, and canceling it ends the run even if the model sends nothing', async () => {
  let fallSilent!: () => void;
  const isSilent = new Promise<void>((resolve) => (fallSilent = resolve));
  const { agent, model } = scriptedAgent([
    [{ text: 'one ' }, { wait: async () => fallSilent() }, { hang: true }],
    'Fine',
  ]);
  const stream = agent.stream('Hi');
  const reader = textStream(stream).readable().getReader();
  expect(model.requests).toHaveLength(0);
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('one ');
  const silent = reader.read();
  await isSilent;
  await reader.cancel();
  expect((await silent).done).toBe(true);
  expect(await stream.result).toMatchObject({ reason: 'aborted', text: 'one ' });
  expect(await agent.call('Again')).toMatchObject({ text: 'Fine' });
});

test('leaving the loop over the text stream cancels the run', async () => {
  const agent = agentOf(['one two three']);
  const stream = agent.stream('Hi');
  for await (const _text of textStream(stream)) break;
  expect(await stream.result).toMatchObject({ reason: 'aborted', text: 'one ' });
});

test.each<[unknown, unknown]>([
  [{}, {}],
  [agentOf([]).stream('Hi'), { errors: 'ignore' }],
  [agentOf([]).stream('Hi'), { errorText: 'Sorry' }],
])('textStream() rejects the arguments %o and %o', (stream, options) => {
  expect(() => textStream(stream as never, options as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  );
});
