import { afterEach, expect, test, vi } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { textOf, userMessage } from '../message/msg.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { Agent } from './agent.ts';
import type { Middleware, Steps } from './middleware.ts';
import { isNewAnswer } from './next.ts';
import { fakeClock } from '../../../../test/clock/fake-clock.ts';

afterEach(() => {
  // A spy that is restored later would bring the fake timer back.
  vi.restoreAllMocks();
});

function setUp(part: Middleware) {
  const model = new ScriptedModel(['One.', 'Two.']);
  return { agent: new Agent({ name: 'a', model, use: [part] }), model };
}

test('steps.edit() replaces, removes and appends messages in the log and in later requests', async () => {
  const { agent, model } = setUp({
    wrapReply: (next) => async (reply, context, steps) => {
      const made = await next(reply);
      const [question, answer] = context.messages;
      if (context.iteration > 1 || !question) return made;
      expect(answer).toBeUndefined();
      const content = [{ type: 'text', text: 'Changed' }] as const;
      await steps.edit({ replace: [{ ...question, content }], append: [reply.message] });
      await steps.edit({
        remove: [reply.message.id],
        append: [steps.message('assistant', 'Instead'), steps.message('user', 'Again')],
      });
      return { to: 'model' };
    },
  });
  await agent.call('Hi');
  const conversation = ['Changed', 'Instead', 'Again'];
  expect(model.requests[1]!.messages.map(textOf)).toEqual(conversation);
  expect((await agent.messages()).map(textOf)).toEqual([...conversation, 'Two.']);
});

test('steps.include() adds messages to requests, before or after the conversation, and not to the log', async () => {
  const { agent, model } = setUp({
    wrapSettle: (next) => async (input, _context, steps) => {
      const first = await next(input);
      steps.include([steps.message('user', 'First')]);
      steps.include([steps.message('user', 'Before')], 'first');
      steps.include([steps.message('user', 'Last')], 'last');
      return first;
    },
  });
  await agent.call('Hi');
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['Before', 'First', 'Hi', 'Last']);
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'One.']);
});

test('`setSystemPrompt()` replaces the base prompt, and keeps what `addToSystemPrompt()` added', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'none' }] }, 'Done.']);
  const seen: string[][] = [];
  const part: Middleware = {
    wrapSettle: (next) => (input, context) => {
      context.addToSystemPrompt('Added.');
      context.setSystemPrompt(`${context.basePrompt} Be brief.`);
      context.addToSystemPrompt('   ');
      return next(input);
    },
    wrapRound: (next) => (round, context) => {
      seen.push([context.basePrompt, context.systemPrompt]);
      context.setSystemPrompt('');
      return next(round);
    },
  };
  await new Agent({ name: 'a', model, systemPrompt: 'Be kind.', use: [part] }).call('Hi');
  expect(seen).toEqual([['Be kind. Be brief.', 'Be kind. Be brief.\n\nAdded.']]);
  const prompts = model.requests.map(({ messages }) => textOf(messages[0]!));
  expect(prompts).toEqual(['Be kind. Be brief.\n\nAdded.', 'Added.']);
});

test('the functions of the context work alone, as controls and steps do', async () => {
  const seen: unknown[] = [];
  const { agent } = setUp({
    wrapSettle: (next) => async (input, context) => {
      const { addTools, setTools, setSystemPrompt, addToSystemPrompt, addUsage } = context;
      const { loadState, storeState, interrupt, fail, now, tools } = context;
      await loadState();
      setSystemPrompt('Be kind.');
      addToSystemPrompt('Be brief.');
      setTools(tools);
      addTools([]);
      addUsage({ inputTokens: 7, outputTokens: 0 });
      await storeState();
      const isInterrupted = interrupt('Stop.');
      seen.push(context.systemPrompt, context.usage.inputTokens, isInterrupted, typeof now());
      fail(new AgentError('MODEL_AUTH', 'No key.'));
      return next(input);
    },
  });
  await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
  expect(seen).toEqual(['Be kind.\n\nBe brief.', 7, true, 'number']);
});

test('after the end of the run, each of the steps throws `ABORTED`', async () => {
  let late!: Steps;
  const { agent } = setUp({
    wrapRun: (next) => (input, _context, steps) => {
      late = steps;
      return next(input);
    },
  });
  await agent.call('Hi');
  const ended = expect.objectContaining({ code: 'ABORTED', message: 'The run has ended.' });
  for (const step of Object.values(late) as ((...args: unknown[]) => unknown)[])
    await expect(async () => step({}, {})).rejects.toThrow(ended);
});

test('steps.suspend() suspends the run, and steps.addToResult() adds to its result', async () => {
  const warning = new AgentError('INTERNAL', 'Odd.').toJSON();
  const { agent, model } = setUp({
    wrapSettle: (next) => async (input, _context, steps) => {
      const first = await next(input);
      steps.addToResult({ warning });
      steps.suspend();
      return first;
    },
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'suspended', warnings: [warning] });
  expect(model.requests).toHaveLength(0);
});

test('a failed agent call has the message of steps.addToResult()', async () => {
  const { agent } = setUp({
    wrapReply: () => async (reply, _context, steps) => {
      steps.addToResult({ failureMessage: reply.message });
      throw new Error('down');
    },
  });
  const result = await agent.call('Hi', { throwOnError: false });
  expect(result).toMatchObject({ reason: 'error', text: 'One.' });
});

/** A tool that answers with its name. */
const toolNamed = (name: string) =>
  tool({ name, description: '', input: { type: 'object' }, execute: () => name });

const forever = new Promise<never>(() => {});

test.each(['abort', 'interrupt'] as const)(
  'an %s ends extra requests that run at once',
  async (how) => {
    const asked: AbortSignal[] = [];
    const waits: ScriptedReply = [
      {
        wait: (signal) => {
          asked.push(signal);
          return forever;
        },
        text: 'never',
      },
    ];
    const calls = { toolCalls: [{ name: 'a' }, { name: 'b' }] };
    const model = new ScriptedModel([calls, waits, waits]);
    const judge: Middleware = {
      wrapTool: (next) => async (call, _context, steps) => {
        await steps.ask({ messages: [userMessage('Good?')], tools: [] }, () => undefined);
        return next(call);
      },
    };
    const tools = [toolNamed('a'), toolNamed('b')];
    const agent = new Agent({ name: 'a', model, tools, use: [judge] });
    const controller = new AbortController();
    const result = agent.call('go', { signal: controller.signal });
    await expect.poll(() => asked.length).toBe(2);
    if (how === 'abort') controller.abort();
    else agent.interrupt();
    expect((await result).reason).toBe(how === 'abort' ? 'aborted' : 'interrupted');
    expect(asked.map(({ aborted }) => aborted)).toEqual([true, true]);
  },
);

test('the time of two steps.untimed() at once does not count, and no timer is left', async () => {
  const clock = fakeClock();
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  const model = new ScriptedModel([{ toolCalls: [{ name: 'a' }, { name: 'b' }] }, 'Done.']);
  const slow: Middleware = {
    wrapTool: (next) => async (call, _context, steps) => {
      const ms = call.tool.name === 'a' ? 5_000 : 60_000;
      await steps.untimed(() => new Promise((resolve) => setTimeout(resolve, ms)));
      return next(call);
    },
  };
  const tools = [toolNamed('a'), toolNamed('b')];
  const limits = { timeoutMs: 20_000 };
  const agent = new Agent({ name: 'a', model, tools, limits, use: [slow] });
  const result = agent.call('go');
  await clock.advance(70_000);
  expect((await result).text).toBe('Done.');
  // Other tests may have left timers with other times.
  const isOfRun = (ms = 0): boolean => ms > 15_000 && ms <= 20_000;
  const ids = timers.mock.calls.flatMap(([, ms], index) =>
    isOfRun(ms) ? [timers.mock.results[index]!.value as unknown] : [],
  );
  expect(ids.length).toBeGreaterThan(1);
  expect(cleared.mock.calls.map(([id]) => id)).toEqual(expect.arrayContaining(ids));
});

test('an abort ends work before the end of a run that hangs', async () => {
  const controller = new AbortController();
  const { agent } = setUp({
    wrapReply: (next) => (reply, _context, steps) => {
      steps.beforeEnd(() => {
        controller.abort();
        return forever;
      });
      steps.beforeEnd(() => forever);
      return next(reply);
    },
  });
  expect((await agent.call('Hi', { signal: controller.signal })).reason).toBe('aborted');
  expect(agent.busy).toBe(false);
});

test('if work before the end of a run fails, the other work is still done', async () => {
  const done: string[] = [];
  const { agent } = setUp({
    wrapReply: (next) => (reply, _context, steps) => {
      steps.beforeEnd(async () => {
        steps.beforeEnd(async () => void done.push('added'));
        throw new AgentError('INTERNAL', 'lost');
      });
      steps.beforeEnd(async () => void done.push('second'));
      return next(reply);
    },
  });
  await expect(agent.call('Hi')).rejects.toThrow('lost');
  expect(done).toEqual(['second', 'added']);
});

test('if works before the end of a run fail, the call fails and the log has the end', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const flush = vi.spyOn(memory, 'flush');
  const failing: Middleware = {
    wrapReply: (next) => (reply, _context, steps) => {
      steps.beforeEnd(() => Promise.reject(new AgentError('INTERNAL', 'lost')));
      steps.beforeEnd(() => {
        throw new AgentError('INTERNAL', 'lost, too');
      });
      return next(reply);
    },
  };
  const model = new ScriptedModel(['One.']);
  const agent = new Agent({ name: 'a', model, memory, use: [failing] });
  await expect(agent.call('Hi')).rejects.toThrow('lost');
  expect(flush.mock.calls.map(([end]) => end?.reason)).toEqual(['error']);
});

test('steps.edit() marks appended questions with the run, also if it removes messages', async () => {
  const { agent } = setUp({
    wrapSettle: (next) => async (input, context, steps) => {
      const first = await next(input);
      const [question] = context.messages;
      await steps.edit({ append: [steps.message('user', 'More')] });
      await steps.edit({ remove: [question!.id], append: [steps.message('user', 'Instead')] });
      return first;
    },
  });
  await agent.call('Hi');
  const [more, instead] = await agent.messages();
  expect([more, instead].map((message) => textOf(message!))).toEqual(['More', 'Instead']);
  const { runId } = more!.metadata!;
  expect(runId).toBeTypeOf('string');
  expect(instead!.metadata).toMatchObject({ runId });
});

test('steps.edit() forgets the tool calls of a removed message', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'a' }] }, 'Done.']);
  const removing: Middleware = {
    wrapRound: () => async (round, context, steps) => {
      await steps.edit({ remove: [context.messages.at(-1)!.id] });
      expect(context.openCalls).toEqual([]);
      return { to: 'model' };
    },
  };
  const agent = new Agent({ name: 'a', model, tools: [toolNamed('a')], use: [removing] });
  expect((await agent.call('Hi')).text).toBe('Done.');
  expect(agent.status.calls.size).toBe(0);
});

test('a jump with a message that the log has fails the agent call, and stores it once', async () => {
  const { agent } = setUp({
    on: {
      'post-reasoning': ({ gotoReasoning }, { messages }) => gotoReasoning([messages[0]!]),
    },
  });
  const input = userMessage('Hi');
  await expect(agent.call(input)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect((await agent.messages()).filter(({ id }) => id === input.id)).toHaveLength(1);
});

test('steps.emit() takes an event with controls only for readers', () => {
  const part: Middleware = {
    wrapRun: (next) => async (input, _context, steps) => {
      // @ts-expect-error
      void (() => steps.emit('pre-call', { input: [] }));
      // @ts-expect-error
      void (() => steps.emit('run-start', {}));
      void (() => steps.emit('pre-call', { input: [] }, { to: 'readers' }));
      void (() => steps.emit('suspended', { pending: [] }));
      return next(input);
    },
  };
  expect(part.wrapRun).toBeDefined();
});

test('steps.revise() takes no event at which hooks reject what only the loop can reject', () => {
  const part: Middleware = {
    wrapRound: (next) => async (round, _context, steps) => {
      // @ts-expect-error
      void (() => steps.revise('pre-call', { input: [] }));
      const { toolUse } = round.calls[0]!;
      // @ts-expect-error
      void (() => steps.revise('pre-acting', { toolUse }));
      return next(round);
    },
  };
  expect(part.wrapRound).toBeDefined();
});

test.for(['user', 'assistant'] as const)(
  'a custom ending with a message of role %s is the answer of the agent',
  async (role) => {
    const { agent } = setUp({
      wrapRequest: () => async (_draft, _context, steps) => ({
        kind: 'custom',
        reason: 'limit',
        message: steps.message(role, 'Enough.'),
      }),
    });
    const { message } = await agent.call('Hi');
    expect(message).toMatchObject({ role: 'assistant', name: 'a', metadata: { reason: 'limit' } });
    expect((await agent.messages()).at(-1)).toEqual(message);
  },
);

test('a call after a custom ending with reason `interrupted` asks the model again, as after an interrupt', async () => {
  let isStopped = true;
  const { agent } = setUp({
    wrapRequest: (next) => async (draft, _context, steps) => {
      if (!isStopped) return next(draft);
      const message = steps.message('assistant', 'Wait.');
      return { kind: 'custom', reason: 'interrupted', message };
    },
  });
  expect((await agent.call('Hi')).text).toBe('Wait.');
  isStopped = false;
  expect((await agent.call()).text).toBe('One.');
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'One.']);
});

test('a `mapEvent` that returns nothing leaves the event as it is', async () => {
  const { agent } = setUp({ mapEvent: () => {} });
  expect((await agent.call('Hi')).text).toBe('One.');
});

test.for(['answer', 'custom'] as const)(
  'readers get a `step-reset` if a wrapper replaces the answer that they have by kind %s',
  async (kind) => {
    const { agent } = setUp({
      wrapReply: (next) => async (reply, _context, steps) => {
        const outcome = await next(reply);
        const message = steps.message('assistant', 'Hidden.');
        return kind === 'answer' && isNewAnswer(outcome)
          ? { ...outcome, message }
          : { kind: 'custom', reason: 'limit', message };
      },
    });
    const stream = agent.stream('Hi');
    const texts: string[] = [];
    for await (const event of stream) {
      if (event.type === 'reasoning-chunk') texts.push(event.delta);
      if (event.type === 'step-reset') texts.splice(0, Infinity, textOf(event.replacement!));
    }
    expect(texts.join('')).toBe('Hidden.');
    expect(textOf((await agent.messages()).at(-1)!)).toBe('Hidden.');
  },
);

test('the draft of a request is no request', () => {
  // @ts-expect-error
  const part: Middleware = { wrapRequest: () => async (draft) => draft };
  expect(part.wrapRequest).toBeDefined();
});

test('readers get nothing of the reply to steps.ask(), and its usage counts', async () => {
  const replies: string[] = [];
  const { agent } = setUp({
    wrapReply: (next) => async (reply, _context, steps) => {
      const judged = await steps.ask(reply.request!);
      if (judged.message) replies.push(textOf(judged.message));
      return next(reply);
    },
  });
  const stream = agent.stream('Hi');
  const texts: string[] = [];
  for await (const event of stream) if (event.type === 'reasoning-chunk') texts.push(event.delta);
  expect([texts.join(''), replies]).toEqual(['One.', ['Two.']]);
  expect((await stream.result).usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'One.']);
});

test('steps.endStopped() refuses a run that nothing has stopped', async () => {
  const { agent } = setUp({ wrapReply: () => (_reply, _context, steps) => steps.endStopped() });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test('if `wrapReply` asks again without storing the reply, readers get a `step-reset` first', async () => {
  let asked = 0;
  const { agent } = setUp({
    wrapReply: (next) => async (reply) => {
      asked += 1;
      return asked === 1 ? { to: 'model' } : next(reply);
    },
  });
  const shown: string[] = [];
  for await (const event of agent.stream('Hi')) {
    if (event.type === 'reasoning-chunk') shown.push(event.delta);
    if (event.type === 'step-reset') shown.push(event.reason);
    if (event.type === 'pre-reasoning') shown.push(event.type);
  }
  // A chat begins a new step at `pre-reasoning`.
  expect(shown).toEqual(['pre-reasoning', 'One.', 'replaced', 'pre-reasoning', 'Two.']);
});
