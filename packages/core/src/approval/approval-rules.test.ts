import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { structured } from '../output/structured.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { toolSearch } from '../selection/tool-search.ts';
import { joinTools } from '../tool/set/join-tools.ts';
import { tool, type Tool } from '../tool/tool.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { approvals, type ApprovalsOptions } from './approvals.ts';

type Rules = NonNullable<ApprovalsOptions['needsApproval']>;

function toolsNamed(...names: readonly string[]): readonly Tool[] {
  return names.map((name) =>
    tool({ name, description: name, input: { type: 'object' }, execute: () => `${name} ran` }),
  );
}

function agentWith(
  needsApproval: Rules,
  { replies = ['Done.'], ...more }: Partial<AgentOptions> & { replies?: ScriptedReply[] } = {},
): ReActAgent {
  const model = new ScriptedModel(replies);
  const use = [...(more.use ?? []), approvals({ needsApproval })];
  return new ReActAgent({ name: 'a', model, ...more, use });
}

const unknown = { code: 'CONFIGURATION', details: { tools: ['mial_send'] } };

test('a rule for an unknown tool fails the call before anything is stored', async () => {
  const memory = new InMemoryMemory();
  const agent = agentWith(
    { mail_send: true, mial_send: true },
    { tools: toolsNamed('mail_send'), memory },
  );
  await expect(agent.call('go')).rejects.toMatchObject(unknown);
  await expect(agent.call('go')).rejects.toThrow(
    'approvals(): needsApproval names tools that the agent does not have: "mial_send". It has: mail_send.',
  );
  await expect(agent.stream('go').result).rejects.toMatchObject(unknown);
  expect(await agent.call('go', { throwOnError: false })).toMatchObject({
    reason: 'error',
    error: { code: 'CONFIGURATION' },
  });
  expect(await memory.read()).toEqual([]);
});

test('rules may name tools that a run adds, whatever the order of the middleware in `use`', async () => {
  const rules = { retrieve_tools: true, generate_response: true };
  const tools = toolsNamed('read');
  const replies = [{ toolCalls: [{ name: 'generate_response', input: {} }] }];
  for (const parts of [
    [toolSearch(), approvals({ needsApproval: rules })],
    [approvals({ needsApproval: rules }), toolSearch()],
  ]) {
    const { agent } = scriptedAgent(replies, { tools, use: parts });
    const output = structured({ type: 'object' });
    expect((await agent.call('go', { output })).pending).toMatchObject([
      { name: 'generate_response' },
    ]);
  }
});

test('every rule is rejected if the agent has no tools', async () => {
  await expect(agentWith({ mial_send: 'x' }).call('go')).rejects.toThrow('It has: none.');
});

test('rules are checked again at each call, because the tools of an agent can change', async () => {
  const agent = agentWith(
    { mail_send: true },
    { tools: new Toolkit(toolsNamed('mail_send')), replies: ['One.', 'Two.'] },
  );
  await agent.call('go');
  (agent.tools as Toolkit).remove('mail_send');
  await expect(agent.call('go')).rejects.toMatchObject({ details: { tools: ['mail_send'] } });
  for (const added of toolsNamed('mail_send')) (agent.tools as Toolkit).add(added);
  expect((await agent.call('go')).text).toBe('Two.');
});

test('rules may name a tool in an inactive group, outside of `allowTools`, or not yet found by a search', async () => {
  const rules = { mail_send: true } as const;
  const grouped = toolsNamed('mail_send').map((each) => ({ ...each, groups: ['mail'] }));
  const groups = [{ name: 'mail', description: '', active: false }];
  const tools = toolsNamed('mail_send', 'read');
  const results = await Promise.all([
    agentWith(rules, { tools: new Toolkit(grouped, { groups }) }).call('go'),
    agentWith(rules, { tools }).call('go', { allowTools: ['read'] }),
    agentWith(rules, { tools, use: [toolSearch()] }).call('go'),
    agentWith(rules, { use: [{ tools }] }).call('go'),
  ]);
  expect(results.map(({ text }) => text)).toEqual(['Done.', 'Done.', 'Done.', 'Done.']);
});

test('rules may name a tool that a tool set can find but does not list', async () => {
  const [mail] = toolsNamed('mail_send');
  const remote: ToolSet = {
    find: (name) => (name === 'mail_send' ? mail : undefined),
    schemas: () => [],
    fork: () => remote,
  };
  const tools = joinTools(toolsNamed('read'), remote);
  expect((await agentWith({ mail_send: true }, { tools }).call('go')).text).toBe('Done.');
  await expect(agentWith({ mial_send: true }, { tools }).call('go')).rejects.toMatchObject(unknown);
});

test.each<[string, readonly string[]]>([
  ['mail_*', ['mail_', 'mail_send', 'mail_read']],
  ['*_send', ['mail_send', 'sms_send']],
  ['m*_*d', ['mail_send', 'mail_read']],
  ['*mail*', ['mail_', 'mail_send', 'mail_read', 'email']],
  ['*', ['mail_', 'mail_send', 'mail_read', 'email', 'sms_send']],
  ['**d', ['mail_send', 'mail_read', 'sms_send']],
  ['mail_send*send', []],
  ['none_*', []],
])('the pattern %s applies to the tool calls of %j', async (pattern, expected) => {
  const names = ['mail_', 'mail_send', 'mail_read', 'email', 'sms_send'];
  const agent = agentWith(
    { [pattern]: true },
    {
      tools: toolsNamed(...names),
      replies: [{ toolCalls: names.map((name) => ({ name })) }, 'Done.'],
    },
  );
  const { pending } = await agent.call('go');
  expect(pending.map(({ name }) => name)).toEqual(expected);
});

test.each(['mail_.*', 'mail *', '(*)', 'x?*'])('the pattern %s is rejected', (pattern) => {
  expect(() => approvals({ needsApproval: { [pattern]: true } })).toThrow(
    `needsApproval has the pattern "${pattern}"`,
  );
});

test('a rule with an empty description asks for an approval, too', async () => {
  const replies = [{ toolCalls: [{ name: 'read', input: {} }] }];
  const agent = agentWith({ read: '' }, { tools: toolsNamed('read'), replies });
  expect(await agent.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ name: 'read' }],
  });
});

test('an exact name takes precedence over patterns, and an earlier pattern over later patterns', async () => {
  const names = ['mail_send', 'mail_read', 'mail_list', 'sms_send'];
  const needsApproval: Rules = {
    'mail_*': 'a mail',
    '*_send': 'a message',
    mail_read: { when: () => false },
    mail_list: false,
  };
  const agent = agentWith(needsApproval, {
    tools: toolsNamed(...names),
    replies: [{ toolCalls: names.map((name) => ({ name })) }],
  });
  expect((await agent.call('go')).pending).toMatchObject([
    { name: 'mail_send', reason: 'a mail' },
    { name: 'sms_send', reason: 'a message' },
  ]);
});

test('a structured value needs approval only if a rule names its tool exactly; a pattern does not apply to it', async () => {
  const tools = toolsNamed('read');
  const output = structured({ type: 'object' });
  const asked = async (needsApproval: Rules): Promise<readonly string[]> => {
    const replies = [
      { toolCalls: [{ name: 'read' }] },
      { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] },
    ];
    const agent = agentWith(needsApproval, { tools, replies });
    const held = (await agent.call('go', { output })).pending;
    const decisions = held.map(({ toolUseId }) => ({ toolUseId, type: 'approve' as const }));
    const { pending } = await agent.call(decisions, { output });
    return [...held, ...pending].map(({ name }) => name);
  };
  expect(await asked({ '*': true })).toEqual(['read']);
  expect(await asked({ '*': true, generate_response: true })).toEqual([
    'read',
    'generate_response',
  ]);
  const named = toolsNamed('generate_response');
  const own = agentWith(
    { '*': true },
    { tools: named, replies: [{ toolCalls: [{ name: 'generate_response' }] }] },
  );
  expect((await own.call('go')).pending).toHaveLength(1);
});
