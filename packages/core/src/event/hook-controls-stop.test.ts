import { expect, test } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { textOf, toolResultsOf } from '../message/msg.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { toolResult } from '../tool/tool-call.ts';
import { tool } from '../tool/tool.ts';
import { pay } from '@test/support/plain-tools.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import type { Middleware, InnerStep } from '../agent/middleware.ts';
import type { Next } from '../agent/next.ts';
import type { Run } from '../agent/seam/run.ts';
import { lookingAgent, asking } from '@test/support/asking-hook.ts';

test('after `stop` at `pre-acting`, all tool calls of the reply stay open, and the next call runs the hooks again', async () => {
  const seen: string[] = [];
  let isFirst = true;
  const stopping: Middleware = {
    on: {
      'pre-acting'({ toolUse, stop }) {
        seen.push(toolUse.id);
        if (toolUse.id !== 'b1' || !isFirst) return;
        isFirst = false;
        stop();
      },
    },
  };
  const { agent, ran } = lookingAgent([stopping]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual([]);
  const messages = await agent.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  await agent.call();
  expect(ran.slice(0, 2).toSorted()).toEqual(['a1', 'b1']);
  expect(seen.slice(0, 3)).toEqual(['a1', 'b1', 'b1']);
});

test('after `stop` at `post-acting`, queued tool calls do not start', async () => {
  const ran: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    input: {},
    execute: (_input, { toolUseId }) => {
      ran.push(toolUseId);
      return 'seen';
    },
  });
  const toolCalls = ['a', 'b', 'c'].map((id) => ({ name: 'look', id }));
  const agentWith = (calls: readonly { readonly name: string; readonly id: string }[]) =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel([{ toolCalls: calls }, 'done']),
      tools: [look],
      limits: { parallelTools: 1 },
      use: [{ on: { 'post-acting': ({ stop }) => stop() } }],
    });
  expect((await agentWith(toolCalls).call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['a']);
  const unknown = agentWith([{ name: 'unknown', id: 'x' }, ...toolCalls]);
  expect((await unknown.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['a']);
});

test.for(
  (['pre-call', 'pre-reasoning', 'post-reasoning', 'post-acting'] as const).flatMap((type) =>
    (['jumpTo', 'gotoReasoning'] as const)
      .filter((name) => type !== 'pre-call' || name === 'jumpTo')
      .map((name) => [type, name] as const),
  ),
)('at %s, a `stop` takes precedence over an earlier `%s` of another hook', async ([type, name]) => {
  const { agent, model } = lookingAgent([
    asking(type, name),
    { ...asking(type, 'stop'), name: 'stopping' },
  ]);
  expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: type });
  expect(model.requests).toHaveLength(type.startsWith('pre-') ? 0 : 1);
  expect((await agent.messages()).map(textOf)).not.toContain('Jumped.');
});

test('a `stop` takes precedence over an earlier jump about another tool call', async () => {
  const { agent, ran } = lookingAgent([
    {
      on: {
        'post-acting': ({ toolUse, jumpTo, stop }) =>
          toolUse.id === 'a1' ? jumpTo('model') : stop(),
      },
    },
  ]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toHaveLength(2);
});

test.for(['wrapReply', 'wrapRound'] as const)(
  'a `stop` at the result of a call that %s closes counts, though the model would come next',
  async (key) => {
    const external = tool({ name: 'external', description: '', input: {} });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'external' }] }, 'Never said.']);
    const closing: Middleware = {
      [key]: async (value: unknown, next: InnerStep<unknown, Next>, run: Run): Promise<Next> => {
        await next(value);
        const [open] = run.calls.open;
        if (open) await run.calls.close(open.toolUse, toolResult(open.toolUse, 'x', 'success'));
        return { to: 'model' };
      },
    };
    const agent = new ReActAgent({
      name: 'a',
      model,
      tools: [external],
      use: [closing, { on: { 'post-acting': (event) => event.stop() } }],
    });
    expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook', iterations: 1 });
    expect(toolResultsOf((await agent.messages()).at(-1)!)).toMatchObject([{ output: 'x' }]);
  },
);

test.for(['tools', 'model'] as const)(
  'a `stop` at a call that a wrapper closes leaves the other calls open if "%s" come next',
  async (to) => {
    const external = tool({ name: 'external', description: '', input: {} });
    const model = new ScriptedModel([
      { toolCalls: ['a', 'b'].map((id) => ({ name: 'external', id })) },
    ]);
    const closing: Middleware = {
      wrapReply: async (reply, next, run) => {
        await next(reply);
        const { toolUse } = run.calls.open[0]!;
        await run.calls.close(toolUse, toolResult(toolUse, 'x', 'success'));
        return { to };
      },
    };
    const agent = new ReActAgent({
      name: 'a',
      model,
      tools: [external],
      use: [closing, { on: { 'post-acting': (event) => event.stop() } }],
    });
    expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook' });
    const results = (await agent.messages()).flatMap(toolResultsOf);
    expect(results.map(({ toolUseId }) => toolUseId)).toEqual(['a']);
  },
);

test('a `stop` at a decided result counts, though `wrapRound` left the call out', async () => {
  const leavingOut: Middleware = {
    wrapRound: (round, next) =>
      next({ ...round, calls: round.calls.filter(({ state }) => !state.decision) }),
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', id: 'c1' }] }, 'Never said.']);
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [pay],
    use: [leavingOut, { on: { 'post-acting': (event) => event.stop() } }],
  });
  await agent.call('go');
  const result = await agent.call([{ toolUseId: 'c1', type: 'reject' }]);
  expect(result).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: 'post-acting' });
});

test('a `stop` about one tool call ends the run, though the wrapper of another one revises an event', async () => {
  let tellStopped: (() => void) | undefined;
  const stopped = new Promise<void>((resolve) => {
    tellStopped = resolve;
  });
  const revised: unknown[] = [];
  const { agent, model } = lookingAgent([
    {
      on: {
        'post-acting': ({ toolUse, stop }) => {
          if (toolUse.id !== 'a1') return;
          stop();
          tellStopped?.();
        },
      },
      wrapTool: async (call, next, run) => {
        if (call.toolUse.id === 'b1') {
          await stopped;
          const message = run.createMessage('assistant', 'A note.');
          revised.push(await run.events.revise('post-summary', { message }));
        }
        return next(call);
      },
    },
  ]);
  expect(await agent.call('go')).toMatchObject({
    reason: 'stopped-by-hook',
    stoppedAt: 'post-acting',
  });
  expect(revised).toEqual([{ event: expect.objectContaining({ type: 'post-summary' }) }]);
  expect(model.requests).toHaveLength(1);
});

test('a tool runs if a hook asks for `stop` while the store records its start', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const ran: string[] = [];
  const toolNamed = (name: string) =>
    tool({ name, description: name, input: {}, execute: () => void ran.push(name) });
  let onStop = (): void => {};
  const stopAsked = new Promise<void>((resolve) => (onStop = resolve));
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'quick' }, { name: 'slow' }] }], {
    tools: [toolNamed('quick'), toolNamed('slow')],
    memory,
    use: [
      {
        on: {
          'post-acting': ({ toolUse, stop }) => {
            if (toolUse.name !== 'quick') return;
            stop();
            onStop();
          },
        },
      },
    ],
  });
  const { note } = memory;
  memory.note = async (notes, options) => {
    await note.call(memory, notes, options);
    const isSlow = notes.some((one) => one.kind === 'call-started' && one.toolUse?.name === 'slow');
    if (isSlow) await stopAsked;
  };
  expect(await agent.call('Go')).toMatchObject({ reason: 'stopped-by-hook' });
  expect(ran).toEqual(['quick', 'slow']);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ state }) => state)).toEqual(['success', 'success']);
});

test("decisions are kept after a stop at `pre-call`, and `jumpTo('tools')` applies them", async () => {
  for (const ask of ['stop', 'jump'] as const) {
    const ran: string[] = [];
    const payment = tool({
      name: 'pay',
      description: '',
      input: {},
      needsApproval: true,
      execute: () => String(ran.push('pay')),
    });
    let isFirst = true;
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay' }] }, 'done'], {
      tools: [payment],
      use: [
        {
          on: {
            'pre-call'({ input, stop, jumpTo }) {
              if (input.length || !isFirst) return;
              isFirst = false;
              if (ask === 'stop') stop();
              else jumpTo('tools');
            },
          },
        },
      ],
    });
    const { pending } = await agent.call('go');
    const approval = { toolUseId: pending[0]!.toolUseId, type: 'approve' } as const;
    const result = await agent.call([approval]);
    expect(result.reason).toBe(ask === 'stop' ? 'stopped-by-hook' : 'stop');
    if (ask === 'stop') expect((await agent.call()).text).toBe('done');
    expect(ran).toEqual(['pay']);
  }
});

test('after `stop` at `pre-call`, the input is in the log', async () => {
  const { agent } = lookingAgent([asking('pre-call', 'stop')]);
  await agent.call('go');
  expect((await agent.messages()).map(textOf)).toEqual(['go']);
});
