import { ReActAgent, tool, toolResultsOf, type AgentHook } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { metaTool, Toolkit } from '@isoloop/core/tool';
import { ScriptedModel } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { outputsOf } from '../test-support.ts';
import { calling, namesOf, noting, requestOf, setUp } from './test-support.ts';

describe('tools', () => {
  const twoGroups = (): Toolkit =>
    new Toolkit(
      [
        metaTool(),
        ...['网络', '文件'].map((group, index) =>
          tool({
            name: ['search', 'open'][index] ?? '',
            description: group,
            input: { type: 'object' },
            group,
            execute: () => `${group}结果`,
          }),
        ),
      ],
      {
        groups: [
          { name: '网络', description: '在网上查找', active: false },
          { name: '文件', description: '读取文件', active: false },
        ],
      },
    );

  test('the tool for groups adds groups round by round and never switches one off', async () => {
    const { agent, model } = setUp(
      [
        calling(['switch_tool_groups', { groups: ['网络'] }]),
        calling(['switch_tool_groups', { groups: ['文件'] }]),
        '好。',
      ],
      { tools: twoGroups() },
    );

    await agent.call('准备工具');

    expect(model.requests.map(namesOf)).toEqual([
      ['switch_tool_groups'],
      ['switch_tool_groups', 'search'],
      ['switch_tool_groups', 'search', 'open'],
    ]);
    const [first, last] = outputsOf(await agent.messages());
    expect(first).not.toContain('读取文件');
    expect(last).toMatch(/在网上查找.*读取文件/s);
  });

  test('an unknown group in a call of the tool for groups is an error, and no group changes', async () => {
    const { agent, model } = setUp(
      [calling(['switch_tool_groups', { groups: ['文件', '没有'] }]), '没有这个组。'],
      { tools: twoGroups() },
    );

    await agent.call('打开');

    const [result] = requestOf(model, 1).messages.flatMap(toolResultsOf);
    expect(result?.state).toBe('error');
    expect(namesOf(requestOf(model, 1))).toEqual(['switch_tool_groups']);
  });

  test('one at a time, a tool call runs after the call of the same reply that adds its group', async () => {
    const { agent, model } = setUp(
      [calling(['search'], ['switch_tool_groups', { groups: ['网络'] }], ['search']), '好。'],
      { tools: twoGroups() },
    );

    await agent.call('查');

    const [early, , late] = outputsOf(requestOf(model, 1).messages);
    expect(early).toMatch(/^Error: Tool not available: search/);
    expect(late).toBe('网络结果');
  });

  test('each agent has its own copy of a toolkit, in groups, presets and tools', async () => {
    const toolkit = twoGroups();
    toolkit.add(
      tool({
        name: 'query',
        description: '查询',
        input: z.object({ 库: z.string() }),
        preset: { 库: '甲' },
        execute: ({ 库 }) => 库,
      }),
    );
    const [one, two] = [1, 2].map(() => setUp([calling(['query']), '完'], { tools: toolkit }));
    const own = one?.agent.tools as Toolkit;

    own.updateGroups(['文件'], true);
    own.updatePreset('query', { 库: '乙' });
    toolkit.add(tool({ name: 'late', description: '晚', input: { type: 'object' } }));
    await one?.agent.call('查');
    await two?.agent.call('查');

    const asked = [one, two].map((each) => each && namesOf(requestOf(each.model, 0)));
    expect(asked).toEqual([
      ['switch_tool_groups', 'open', 'query'],
      ['switch_tool_groups', 'query'],
    ]);
    const read = [one, two].map((each) => each && outputsOf(requestOf(each.model, 1).messages));
    expect(read).toEqual([['乙'], ['甲']]);
    expect(toolkit.activeGroups()).toEqual([]);
  });

  test('an approved tool call does not run if its group was switched off meanwhile', async () => {
    const ran: unknown[] = [];
    const pay = tool({
      name: 'pay',
      description: '결제',
      input: { type: 'object' },
      group: '결제',
      needsApproval: true,
      execute: (input) => void ran.push(input),
    });
    const { agent, model } = setUp([calling(['pay', { 금액: 5 }]), '결제하지 못했습니다.'], {
      tools: new Toolkit([pay], { groups: [{ name: '결제', description: '결제 도구' }] }),
    });

    const { pending } = await agent.call('결제해 줘');
    agent.tools.setActiveGroups?.([]);
    await agent.call([{ toolUseId: pending[0]?.toolUseId ?? '', type: 'approve' }]);

    expect(ran).toEqual([]);
    expect(outputsOf(requestOf(model, 1).messages)[0]).toMatch(/^Error: Tool not available: pay/);
  });

  test('a hook that switches a group off at one tool call stops the next one of the reply', async () => {
    const { ran, tool: free } = noting('free');
    const grouped = tool({
      name: 'grouped',
      description: '묶음',
      input: { type: 'object' },
      group: '묶음',
      execute: (input) => void ran.push(input),
    });
    const closing: AgentHook = {
      on: { 'pre-acting': () => void agent.tools.setActiveGroups?.([]) },
    };
    const { agent, model } = setUp([calling(['free'], ['grouped']), '하나만 했습니다.'], {
      tools: new Toolkit([free, grouped], { groups: [{ name: '묶음', description: '묶음' }] }),
      use: [closing],
    });

    await agent.call('둘 다');

    const [first, second] = outputsOf(requestOf(model, 1).messages);
    expect(first).toBe('好');
    expect(second).toMatch(/^Error: Tool not available: grouped/);
    expect(ran).toHaveLength(1);
  });

  test('the list of allowed tools also holds for a group that the model activates', async () => {
    const { agent, model } = setUp(
      [
        calling(['switch_tool_groups', { groups: ['网络', '文件'] }]),
        calling(['open']),
        '好。',
        '好',
      ],
      { tools: twoGroups() },
    );

    await agent.call('打开', { allowTools: ['switch_tool_groups', 'search'] });
    await agent.call('现在呢?');

    expect(namesOf(requestOf(model, 1))).toEqual(['switch_tool_groups', 'search']);
    expect(outputsOf(requestOf(model, 2).messages)[1]).toMatch(/^Error: Tool not allowed: open/);
    expect(namesOf(requestOf(model, 3))).toEqual(['switch_tool_groups', 'search', 'open']);
  });

  test('an agent as a tool belongs to a group like any tool, and the model can activate it', async () => {
    const expert = agentTool(
      ({ sessionId }) =>
        new ReActAgent({ name: 'expert', sessionId, model: new ScriptedModel(['専門の答え']) }),
      { name: 'expert', description: '専門家', group: '専門' },
    );
    const { agent, model } = setUp(
      [
        calling(['switch_tool_groups', { groups: ['専門'] }]),
        calling([expert.name, { message: '聞く' }]),
        '完了',
      ],
      {
        tools: new Toolkit([metaTool(), expert], {
          groups: [{ name: '専門', description: '専門家', active: false }],
        }),
      },
    );

    await agent.call('専門家に');

    expect(namesOf(requestOf(model, 0))).toEqual(['switch_tool_groups']);
    expect(outputsOf(requestOf(model, 2).messages)[1]).toMatch(/専門の答え$/);
  });
});
