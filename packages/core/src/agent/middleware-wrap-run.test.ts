import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { textOf, type Msg } from '../message/msg.ts';
import { retry } from '../resilience/retry.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool, type Tool } from '../tool/tool.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { look } from '@test/support/plain-tools.ts';
import type { Middleware } from './middleware.ts';

function setUp(replies: readonly ScriptedReply[], use: readonly Middleware[]) {
  const heard: string[] = [];
  const witness: Middleware = { on: { '*': ({ type }) => void heard.push(type) } };
  const { agent } = scriptedAgent(replies, { tools: [look], use: [...use, witness] });
  return { agent, heard };
}

async function eventsOf(agent: ReActAgent): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  const stream = agent.stream('go', { throwOnError: false });
  for await (const event of stream) events.push(event);
  return events;
}

test('`run-start` comes before the outermost `wrapRun`, and `run-end` comes after it, with its result', async () => {
  const marks: string[] = [];
  const named = (name: string): Middleware => ({
    wrapRun: async (input, next) => {
      marks.push(`${name} begins after ${heard.join()}`);
      const result = await next(input);
      marks.push(`${name} ends, ${heard.includes('run-end') ? 'late' : 'in time'}`);
      return { ...result, text: `${result.text} ${name}` };
    },
  });
  const { agent, heard } = setUp(['done'], [named('outer'), named('inner')]);
  const events = await eventsOf(agent);
  expect(marks).toEqual([
    'outer begins after run-start',
    'inner begins after run-start',
    'inner ends, in time',
    'outer ends, in time',
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { text: 'done inner outer' } });
});

test('in `wrapRun`, `next` rejects if the run fails, and `error` and `run-end` come after the wrappers', async () => {
  const seen: string[] = [];
  const watching: Middleware = {
    wrapRun: async (input, next) => {
      try {
        return await next(input);
      } catch (error) {
        seen.push(AgentError.from(error).code, ...heard.filter((type) => type === 'error'));
        throw error;
      }
    },
  };
  const { agent, heard } = setUp([{ error: new AgentError('MODEL_AUTH', 'no key') }], [watching]);
  const types = (await eventsOf(agent)).map(({ type }) => type);
  expect(seen).toEqual(['MODEL_AUTH']);
  expect(types.slice(-2)).toEqual(['error', 'run-end']);
});

test('readers get the events that `mapEvent` returns, but hooks and the log do not', async () => {
  const shouting: Middleware = {
    mapEvent: (event) =>
      event.type === 'run-end'
        ? { ...event, result: { ...event.result, text: event.result.text.toUpperCase() } }
        : event,
  };
  const ends: string[] = [];
  const hook: Middleware = { on: { 'run-end': ({ result }) => void ends.push(result.text) } };
  const { agent } = setUp(['done'], [shouting, hook]);
  const events = await eventsOf(agent);
  expect(events.at(-1)).toMatchObject({ result: { text: 'DONE' } });
  expect(ends).toEqual(['done']);
});

test('`mapEvent` gets each event of a reply that is no delta, such as the reset of a retry', async () => {
  const seen: string[] = [];
  const marking: Middleware = {
    mapEvent(event) {
      seen.push(event.type);
      return event.type === 'step-reset' ? { ...event, reason: 'marked' } : event;
    },
  };
  const error = new AgentError('MODEL_UNREACHABLE', 'down', { retryable: true });
  const replies = [{ text: 'partial', error }, 'done'];
  const again = retry({ afterFirstDelta: true, sleep: async () => {} });
  const events = await eventsOf(setUp(replies, [marking, again]).agent);
  expect(events.find(({ type }) => type === 'step-reset')).toMatchObject({ reason: 'marked' });
  expect(events.some(({ type }) => type === 'reasoning-chunk')).toBe(true);
  expect(seen).not.toContain('reasoning-chunk');
});

test('the run context shows the run and can change its system prompt', async () => {
  const shown: unknown[] = [];
  const changing: Middleware = {
    wrapRun: (input, next, run) => {
      run.prompt.set('Be brief.');
      shown.push(run.agentPath, run.ending.stopped, run.prompt.text);
      return next(input);
    },
    on: {
      'post-call': (_event, { iteration, usage, messages, calls: { open: openCalls } }) =>
        void shown.push(iteration, usage.inputTokens > 0, messages.length, openCalls),
    },
  };
  const { agent } = setUp([{ toolCalls: [{ name: 'look' }] }, 'done'], [changing]);
  await agent.call('go');
  expect(shown).toEqual([['a'], undefined, 'Be brief.', 2, true, 3, []]);
});

test('a tool can interrupt its own run through its context', async () => {
  const stop = tool({
    name: 'stop',
    description: '',
    input: {},
    execute: (_input, { interrupt }) => String(interrupt('That is enough.')),
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'stop' }] }], { tools: [stop] });
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted', text: 'That is enough.' });
});

test('`onHookError` of the agent applies to exceptions in hooks, unless the hook has its own `onError`', async () => {
  const failing: Middleware = {
    on: {
      'post-call': () => {
        throw new Error('down');
      },
    },
  };
  const agentWith = (use: readonly Middleware[], onHookError?: 'ignore') =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel(['done']),
      use,
      ...(onHookError && { onHookError }),
    });
  await expect(agentWith([failing]).call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  expect((await agentWith([failing], 'ignore').call('go')).text).toBe('done');
  const strict = agentWith([{ ...failing, onError: 'fail' }], 'ignore');
  await expect(strict.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
});

test.each<[string, Middleware, Tool['execute']]>([
  [
    'hook before a tool',
    { on: { 'pre-acting': () => Promise.reject(new Error('down')) } },
    () => '',
  ],
  [
    'hook after a tool',
    { on: { 'post-acting': () => Promise.reject(new Error('down')) } },
    () => '',
  ],
  ['tool', {}, () => Promise.reject(new AgentError('TOOL_ERROR', 'down'))],
])('a %s that ends the call also ends it inside wrappers', async (_what, part, execute) => {
  const passing: Middleware = { wrapRun: (input, next) => next(input) };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'step' }] }]);
  const step = tool({
    name: 'step',
    description: '',
    input: { type: 'object' },
    execute: execute!,
  });
  const agent = new ReActAgent({ name: 'a', model, tools: [step], use: [passing, passing, part] });
  await expect(agent.call('go')).rejects.toThrow('down');
});

test('a run also ends if `wrapRun` returns a result of its own', async () => {
  const answering: Middleware = {
    wrapRun: async (input, next) => {
      try {
        return await next(input);
      } catch {
        return { ...(await spare.call('go')), text: 'from the spare' };
      }
    },
  };
  const spare = new ReActAgent({ name: 'spare', model: new ScriptedModel(['spare']) });
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { durability: 'turn' });
  const { agent } = scriptedAgent([{ error: new AgentError('MODEL_AUTH', 'no key') }], {
    memory,
    use: [answering],
  });
  expect((await agent.call('go')).text).toBe('from the spare');
  expect(agent.interrupt()).toBe(false);
  expect(await new SessionMemory(store, 's').read()).toHaveLength(1);
});

test('a call that a busy agent rejects does not run `wrapRun`', async () => {
  const wrapped: string[] = [];
  const counting: Middleware = {
    wrapRun: (input, next, run) => {
      wrapped.push(run.runId);
      return next(input);
    },
  };
  const { agent } = setUp([{ hang: true }], [counting]);
  const controller = new AbortController();
  const running = agent.call('go', { signal: controller.signal });
  expect(await agent.call('go', { throwOnError: false })).toMatchObject({
    error: { code: 'AGENT_BUSY' },
  });
  controller.abort();
  await running;
  expect(wrapped).toHaveLength(1);
});

test('a `mapEvent` that throws fails the call, but does not hide an earlier failure', async () => {
  const failing: Middleware = {
    name: 'mapper',
    mapEvent(event) {
      if (event.type === 'run-end' || event.type === 'error') throw new Error('down');
      return event;
    },
  };
  await expect(setUp(['done'], [failing]).agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    message: 'mapEvent() of "mapper" failed: down',
  });
  const { agent, heard } = setUp([{ error: new AgentError('MODEL_AUTH', 'no key') }], [failing]);
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
  expect(heard.at(-1)).toBe('run-end');
});

test('an invalid result of `wrapRun` and a missing context are rejected', async () => {
  const wrong = (wrapRun: () => unknown): ReActAgent =>
    setUp(['done'], [{ wrapRun: wrapRun as never }]).agent;
  await expect(wrong(async () => undefined).call('go')).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
});

test('after an interrupt, the input is stored only after the guards have changed it', async () => {
  let judge = (): void => {};
  const judged = new Promise<void>((resolve) => (judge = resolve));
  const masking: Middleware = {
    wrapInput: async (input, next, run) => {
      agent.interrupt();
      judge();
      expect(run.signal.aborted).toBe(false);
      const messages = input.messages.map((message): Msg => ({
        ...message,
        content: [{ type: 'text', text: '[EMAIL]' }],
      }));
      return next({ ...input, messages });
    },
  };
  const { agent } = setUp(['never'], [masking]);
  const result = await agent.call('jane@example.com');
  await judged;
  expect(result.reason).toBe('interrupted');
  expect(textOf((await agent.messages())[0]!)).toBe('[EMAIL]');
});

test('a call that is aborted while it waits for its turn does not run `wrapRun`', async () => {
  const inputs: string[] = [];
  const watching: Middleware = {
    wrapRun: (input, next) => {
      inputs.push(input.messages.map(textOf).join());
      return next(input);
    },
  };
  const { agent } = scriptedAgent(['done'], { whenBusy: 'queue', use: [watching] });
  const controller = new AbortController();
  const first = agent.call('first');
  const second = agent.call('second', { signal: controller.signal });
  controller.abort();
  expect((await second).reason).toBe('aborted');
  expect((await first).text).toBe('done');
  expect(inputs).toEqual(['first']);
  expect((await agent.messages()).map(textOf)).toEqual(['first', 'done']);
});

test('an outer `wrapRun` gets the result of an aborted run, even if an inner one throws', async () => {
  const seen: unknown[] = [];
  const controller = new AbortController();
  const outer: Middleware = {
    wrapRun: async (input, next) => {
      const result = await next(input);
      seen.push(result.reason);
      return result;
    },
  };
  const inner: Middleware = {
    wrapRun: async (input, next, run) => {
      controller.abort();
      run.signal.throwIfAborted();
      return next(input);
    },
  };
  const { agent } = setUp(['done'], [outer, inner]);
  const { reason } = await agent.call('go', { signal: controller.signal });
  expect([reason, ...seen]).toEqual(['aborted', 'aborted']);
});

test('state that is set after `next` of `wrapRun` is in the log after `storeState()`', async () => {
  const store = new MemoryStore();
  const counts: unknown[] = [];
  const counting: Middleware = {
    wrapRun: async (input, next, run) => {
      await run.log.load();
      const count = Number(run.state['count'] ?? 0);
      counts.push(count);
      const result = await next(input);
      run.state['count'] = count + 1;
      await run.log.store();
      return result;
    },
  };
  for (const text of ['one', 'two', 'three']) {
    const memory = new SessionMemory(store, 's');
    const model = new ScriptedModel([text]);
    await new ReActAgent({ name: 'a', model, memory, use: [counting] }).call(text);
  }
  expect(counts).toEqual([0, 1, 2]);
});

test('if an inner `wrapRun` hangs and the call is aborted, the outer one still ends as usual', async () => {
  const controller = new AbortController();
  const outer: Middleware = {
    wrapRun: async (input, next, run) => {
      const result = await next(input);
      await run.events.emit('acting-chunk', { toolUseId: 'x', chunk: 'late' });
      await run.log.store();
      return { ...result, text: 'Mine.' };
    },
  };
  const inner: Middleware = {
    wrapRun: async (input, next) => {
      await next(input);
      controller.abort();
      return new Promise(() => {});
    },
  };
  const { agent, heard } = setUp(['Hi.'], [outer, inner]);
  const { signal } = controller;
  expect(await agent.call('go', { signal })).toMatchObject({ reason: 'aborted', text: 'Mine.' });
  expect(heard).toContain('acting-chunk');
});

test('readers get what `run.ending.before()` emits before `run-end`, however the run ends', async () => {
  const summed: Middleware = {
    on: {
      'run-start': (_event, run) =>
        run.ending.before(() =>
          run.events.emit('acting-chunk', { toolUseId: 'sum', chunk: 'emitted' }),
        ),
    },
  };
  const rejecting: Middleware = {
    wrapInput: () => Promise.reject(new AgentError('GUARD_REJECTED', 'No.')),
  };
  const failing: ScriptedReply = { error: new AgentError('MODEL_SERVER', 'down') };
  const interrupting: Middleware = {
    wrapRequest: (draft, next, run) => {
      run.ending.interrupt('Stop.');
      return next(draft);
    },
  };
  const ends = {
    stop: setUp(['done'], [summed]),
    error: setUp([failing], [summed]),
    rejected: setUp([], [summed, rejecting]),
    interrupted: setUp(['done'], [summed, interrupting]),
  };
  for (const [reason, { agent }] of Object.entries(ends)) {
    const events = await eventsOf(agent);
    expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { reason } });
    const emitted = events.findIndex(({ type }) => type === 'acting-chunk');
    expect(emitted).toBeGreaterThan(0);
  }
});

test('a warning after `next` of `wrapRun` comes too late, unless the result has it', async () => {
  const warning = new AgentError('TOOL_ERROR', 'late').toJSON();
  const late: Middleware = {
    wrapRun: async (input, next, run) => {
      const result = await next(input);
      run.ending.addToResult({ warning });
      return result;
    },
  };
  const returned: Middleware = {
    wrapRun: async (input, next) => ({ ...(await next(input)), warnings: [warning] }),
  };
  expect((await setUp(['done'], [late]).agent.call('go')).warnings).toBeUndefined();
  expect((await setUp(['done'], [returned]).agent.call('go')).warnings).toEqual([warning]);
});
