import { expect, test } from 'vitest';
import * as z from 'zod';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { clearToolResults } from '../context/clear-tool-results.ts';
import { piiRule, outputGuards } from '@isoloop/guards';
import { textOf, toolUsesOf } from '../message/msg.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { toUiMessages } from '../stream/ui/ui-messages.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { countMessage } from '../tokens/count-message.ts';
import { tool } from '../tool/tool.ts';
import { parseOxygent } from '../../../presets/src/oxygent/parse-oxygent.ts';
import type { ParsedReply } from './parsed-reply.ts';
import { textToolCalls, type TextToolCallsOptions } from './text-tool-calls.ts';

const input = z.object({ x: z.unknown() });
const look = tool({ name: 'look', description: '', input, execute: () => 'seen' });

function setUp(
  replies: readonly ScriptedReply[],
  protocol: TextToolCallsOptions = {},
  options: Partial<AgentOptions> = {},
) {
  const model = new ScriptedModel(replies, { features: { tools: false } });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look],
    ...options,
    use: [...(options.use ?? []), textToolCalls(protocol)],
  });
  return { agent, model };
}

/** Returns the model's own turns in its last request. */
function ownTurns({ requests }: ScriptedModel): readonly string[] {
  const { messages } = requests.at(-1)!;
  return messages.filter(({ role }) => role === 'assistant').map(textOf);
}

const call = '{"think": "why",  "tool_name":"look", "arguments": {"x": 1.0}, "trust_mode": 0}';
const replies = [
  call,
  `  Let me look.\n\n\`\`\`json\n${call}\n\`\`\`\n\nNow I wait.  \n`,
  `[${call},\n ${call}]`,
  `${call}\nTool [look] execution result: made up`,
  `\`\`\`tool_call\n${call.replace('"x": 1.0', '"x": "a\nb \\u00e9 🙂"')}\n\`\`\``,
] as const;

test.for(replies)('the model reads its own turn as it wrote it: %s', async (said) => {
  for (const parse of [undefined, parseOxygent]) {
    // A Python string contains no raw line break.
    if (parse && /^\[|a\nb/.test(said)) continue;
    const { agent, model } = setUp([said, 'Done.', 'Bye.'], parse && { parse });
    expect(await agent.call('go')).toMatchObject({ text: 'Done.', toolsUsed: ['look'] });
    expect(ownTurns(model)).toEqual([said]);
    await agent.call('on');
    expect(ownTurns(model)).toEqual([said, 'Done.']);
  }
});

test('the model reads its own turn without the thinking', async () => {
  const { agent, model } = setUp([`<think>Hm.</think>\n\nSo. ${call}`, 'Done.']);
  await agent.call('go');
  expect(ownTurns(model)).toEqual([`So. ${call}`]);
});

/**
 * Reads `ACTION: name`, with the arguments as JSON on the following lines, as in OxyGent's
 * documentation.
 */
function parseAction(reply: string): ParsedReply {
  const [first = '', ...rest] = reply.split('\n');
  if (!first.startsWith('ACTION:')) return { type: 'answer', text: reply };
  const name = first.slice(7).trim();
  return { type: 'calls', calls: [{ name, arguments: JSON.parse(rest.join('\n')) }] };
}

test('with a custom format, the model reads its own turns as it wrote them, also in another agent', async () => {
  const protocol = { parse: parseAction, prompt: () => 'Write ACTION: name, then JSON.' };
  const said = 'ACTION: look\n{"x": [1,\n2]}';
  const first = setUp([said, 'Done.'], protocol);
  await first.agent.call('go');
  expect(ownTurns(first.model)).toEqual([said]);
  const { agent, model } = setUp(['Bye.'], protocol);
  await loadState(agent, JSON.parse(JSON.stringify(await saveState(first.agent))));
  await agent.call('on');
  expect(ownTurns(model)).toEqual([said, 'Done.']);
});

test('in its own turn, the model does not read text that the parser added', async () => {
  const parse = (reply: string): ParsedReply => {
    const parsed = parseAction(reply);
    return parsed.type === 'calls' ? { ...parsed, text: 'One moment.' } : parsed;
  };
  const said = 'ACTION: look\n{"x":1}';
  const { agent, model } = setUp([said, 'Done.'], { parse });
  await agent.call('go');
  expect((await agent.messages()).map(textOf)).toContain('One moment.');
  expect(ownTurns(model)).toEqual([said]);
});

test('text that a guard changed stays changed', async () => {
  const { agent, model } = setUp(
    [`I ask ann@example.com. ${call}`, 'Done.'],
    {},
    { use: [outputGuards([piiRule()])] },
  );
  await agent.call('go');
  expect(ownTurns(model)).toEqual([`I ask [EMAIL]. ${call}`]);
  expect(JSON.stringify(await agent.messages())).not.toContain('ann@example.com');
});

test('shows a call as a hook changed it, and drops arguments that were cleared', async () => {
  const said = call.replace('1.0', '"secret"');
  const { agent, model } = setUp([said, 'Done.']);
  agent.addHook({
    on: {
      'post-reasoning': (event) => ({
        ...event,
        message: {
          ...event.message,
          content: event.message.content.map((block) =>
            block.type === 'tool_use' ? { ...block, input: { x: 'changed' } } : block,
          ),
        },
      }),
    },
  });
  await agent.call('go');
  expect(ownTurns(model)[0]).toContain('changed');
  expect(ownTurns(model)[0]).not.toContain('secret');

  const cleared = setUp(
    [said, said, 'Done.'],
    {},
    { use: [clearToolResults({ keep: 1, maxTokens: 1, clearToolInputs: true })] },
  );
  await cleared.agent.call('go');
  expect(ownTurns(cleared.model)).toEqual([expect.not.stringContaining('secret'), said]);
});

test('shows an edited call as edited, and the other calls of its turn with their arguments', async () => {
  const pay = tool({ ...look, name: 'pay', description: '', input, needsApproval: true });
  const said = `[${call}, ${call.replace('look', 'pay')}]`;
  const { agent, model } = setUp([said, 'Done.'], {}, { tools: [look, pay] });
  const { pending } = await agent.call('go');
  await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'edit', input: { x: 22 } }]);
  const own = ownTurns(model)[0]!;
  expect(own.match(/"x":\s*[\d.]+/g)).toEqual(['"x":1', '"x":22']);
});

test('the written text of a turn counts as tokens, and toUiMessages() does not return it', async () => {
  const prose = 'word '.repeat(200);
  const { agent } = setUp([`${prose}${call}`, 'Done.'], { parse: parseOxygent });
  await agent.call('go');
  const log = await agent.messages();
  const asking = log.find((message) => toolUsesOf(message).length)!;
  expect(countMessage(asking)).toBeGreaterThan(200);
  expect(JSON.stringify(toUiMessages(log))).not.toContain('word');
});

test('a call that the model server made has no written text, so it is shown in the default format', async () => {
  const { agent, model } = setUp([{ toolCalls: [{ name: 'look', input: { x: 1 } }] }, 'Done.']);
  await agent.call('go');
  expect(ownTurns(model)).toEqual(['```json\n{"tool_name":"look","arguments":{"x":1}}\n```']);
});
