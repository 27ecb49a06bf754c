import { afterEach, expect, test, vi } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { textOf, userMessage } from '../../message/msg.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { Agent } from '../agent.ts';
import type { Middleware, Run } from '../middleware.ts';
import { isNewAnswer } from '../next.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

afterEach(() => {
  // A spy that is restored later would bring the fake timer back.
  vi.restoreAllMocks();
});

function setUp(middleware: Middleware) {
  const model = new ScriptedModel(['One.', 'Two.']);
  return { agent: new Agent({ name: 'a', model, use: [middleware] }), model };
}

test('run.log.edit() replaces, removes and appends messages in the log and in later requests', async () => {
  const { agent, model } = setUp({
    wrapReply: async (reply, next, run) => {
      const made = await next(reply);
      const [question, answer] = run.messages;
      if (run.iteration > 1 || !question) return made;
      expect(answer).toBeUndefined();
      const content = [{ type: 'text', text: 'Changed' }] as const;
      await run.log.edit({ replace: [{ ...question, content }], append: [reply.message] });
      await run.log.edit({
        remove: [reply.message.id],
        append: [run.createMessage('assistant', 'Instead'), run.createMessage('user', 'Again')],
      });
      return { to: 'model' };
    },
  });
  await agent.call('Hi');
  const conversation = ['Changed', 'Instead', 'Again'];
  expect(model.requests[1]!.messages.map(textOf)).toEqual(conversation);
  expect((await agent.messages()).map(textOf)).toEqual([...conversation, 'Two.']);
});

test('run.prompt.include() and includeLast() add messages to requests, before and after the conversation, and not to the log', async () => {
  const { agent, model } = setUp({
    wrapSettle: async (input, next, run) => {
      const first = await next(input);
      run.prompt.include([run.createMessage('user', 'First')]);
      run.prompt.include([run.createMessage('user', 'Before')]);
      run.prompt.includeLast([run.createMessage('user', 'Last')]);
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
  const middleware: Middleware = {
    wrapSettle: (input, next, run) => {
      run.prompt.append('Added.');
      run.prompt.set(`${run.prompt.base} Be brief.`);
      run.prompt.append('   ');
      return next(input);
    },
    wrapRound: (round, next, run) => {
      seen.push([run.prompt.base, run.prompt.text]);
      run.prompt.set('');
      return next(round);
    },
  };
  await new Agent({ name: 'a', model, systemPrompt: 'Be kind.', use: [middleware] }).call('Hi');
  expect(seen).toEqual([['Be kind. Be brief.', 'Be kind. Be brief.\n\nAdded.']]);
  const prompts = model.requests.map(({ messages }) => textOf(messages[0]!));
  expect(prompts).toEqual(['Be kind. Be brief.\n\nAdded.', 'Added.']);
});

test('the functions of `run` work alone, as controls do', async () => {
  const seen: unknown[] = [];
  const { agent } = setUp({
    wrapSettle: async (input, next, run) => {
      const { add: addTools, set: setTools } = run.tools;
      const { set: setSystemPrompt, append: addToSystemPrompt } = run.prompt;
      const { addUsage } = run.model;
      const { now } = run;
      const { load: loadState, store: storeState } = run.log;
      const { interrupt, fail } = run.ending;
      const { current: tools } = run.tools;
      await loadState();
      setSystemPrompt('Be kind.');
      addToSystemPrompt('Be brief.');
      setTools(tools);
      addTools([]);
      addUsage({ inputTokens: 7, outputTokens: 0 });
      await storeState();
      const isInterrupted = interrupt('Stop.');
      seen.push(run.prompt.text, run.usage.inputTokens, isInterrupted, typeof now());
      fail(new AgentError('MODEL_AUTH', 'No key.'));
      return next(input);
    },
  });
  await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
  expect(seen).toEqual(['Be kind.\n\nBe brief.', 7, true, 'number']);
});

test('after the end of the run, each of the steps throws `ABORTED`', async () => {
  let late!: Run;
  const { agent } = setUp({
    wrapSettle: (input, next, run) => {
      late = run;
      return next(input);
    },
  });
  await agent.call('Hi');
  const ended = expect.objectContaining({ code: 'ABORTED', message: 'The run has ended.' });
  // From `run-end` on, a failure or an interrupt has no effect.
  const { fail: _fail, interrupt: _interrupt, ...ending } = late.ending;
  const { stream: _stream, ...model } = late.model;
  const { log, prompt, tools, calls, events, wait, inbox } = late;
  const groups = [log, prompt, tools, model, calls, events, ending, wait, inbox];
  const functions = groups
    .flatMap((group): unknown[] => Object.values(group))
    .filter((member) => typeof member === 'function');
  expect(functions).toHaveLength(24);
  for (const step of functions as ((...args: unknown[]) => unknown)[])
    await expect(async () => step({}, {})).rejects.toThrow(ended);
});

test('run.ending.suspend() suspends the run, and run.ending.addToResult() adds to its result', async () => {
  const warning = new AgentError('INTERNAL', 'Odd.').toJSON();
  const { agent, model } = setUp({
    wrapSettle: async (input, next, run) => {
      const first = await next(input);
      run.ending.addToResult({ warning });
      run.ending.suspend();
      return first;
    },
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'suspended', warnings: [warning] });
  expect(model.requests).toHaveLength(0);
});

test('a failed agent call has the message of run.ending.addToResult()', async () => {
  const { agent } = setUp({
    wrapReply: async (reply, _next, run) => {
      run.ending.addToResult({ failureMessage: reply.message });
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
      wrapTool: async (call, next, run) => {
        await run.model.ask({ messages: [userMessage('Good?')], tools: [] }, () => undefined);
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

test('the time of two run.wait.untimed() at once does not count, and no timer is left', async () => {
  const clock = fakeClock();
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  const model = new ScriptedModel([{ toolCalls: [{ name: 'a' }, { name: 'b' }] }, 'Done.']);
  const slow: Middleware = {
    wrapTool: async (call, next, run) => {
      const ms = call.tool.name === 'a' ? 5_000 : 60_000;
      await run.wait.untimed(() => new Promise((resolve) => setTimeout(resolve, ms)));
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
    wrapReply: (reply, next, run) => {
      run.ending.before(() => {
        controller.abort();
        return forever;
      });
      run.ending.before(() => forever);
      return next(reply);
    },
  });
  expect((await agent.call('Hi', { signal: controller.signal })).reason).toBe('aborted');
  expect(agent.busy).toBe(false);
});

test('if work before the end of a run fails, the other work is still done', async () => {
  const done: string[] = [];
  const { agent } = setUp({
    wrapReply: (reply, next, run) => {
      run.ending.before(async () => {
        run.ending.before(async () => void done.push('added'));
        throw new AgentError('INTERNAL', 'lost');
      });
      run.ending.before(async () => void done.push('second'));
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
    wrapReply: (reply, next, run) => {
      run.ending.before(() => Promise.reject(new AgentError('INTERNAL', 'lost')));
      run.ending.before(() => {
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

test('run.log.edit() marks appended questions with the run, also if it removes messages', async () => {
  const { agent } = setUp({
    wrapSettle: async (input, next, run) => {
      const first = await next(input);
      const [question] = run.messages;
      await run.log.edit({ append: [run.createMessage('user', 'More')] });
      await run.log.edit({
        remove: [question!.id],
        append: [run.createMessage('user', 'Instead')],
      });
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

test('run.log.edit() forgets the tool calls of a removed message', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'a' }] }, 'Done.']);
  const removing: Middleware = {
    wrapRound: async (round, _next, run) => {
      await run.log.edit({ remove: [run.messages.at(-1)!.id] });
      expect(run.calls.open).toEqual([]);
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

test('run.events.emit() takes an event with controls only for readers', () => {
  const middleware: Middleware = {
    wrapRun: async (input, next, run) => {
      // @ts-expect-error
      void (() => run.events.emit('pre-call', { input: [] }));
      // @ts-expect-error
      void (() => run.events.emit('run-start', {}));
      void (() => run.events.emit('pre-call', { input: [] }, { to: 'readers' }));
      void (() => run.events.emit('suspended', { pending: [] }));
      return next(input);
    },
  };
  expect(middleware.wrapRun).toBeDefined();
});

test('run.events.revise() takes no event at which hooks reject what only the loop can reject', () => {
  const middleware: Middleware = {
    wrapRound: async (round, next, run) => {
      // @ts-expect-error
      void (() => run.events.revise('pre-call', { input: [] }));
      const { toolUse } = round.calls[0]!;
      // @ts-expect-error
      void (() => run.events.revise('pre-acting', { toolUse }));
      return next(round);
    },
  };
  expect(middleware.wrapRound).toBeDefined();
});

test.for(['user', 'assistant'] as const)(
  'a custom ending with a message of role %s is the answer of the agent',
  async (role) => {
    const { agent } = setUp({
      wrapRequest: async (_draft, _next, run) => ({
        kind: 'custom',
        reason: 'limit',
        message: run.createMessage(role, 'Enough.'),
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
    wrapRequest: async (draft, next, run) => {
      if (!isStopped) return next(draft);
      const message = run.createMessage('assistant', 'Wait.');
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
      wrapReply: async (reply, next, run) => {
        const outcome = await next(reply);
        const message = run.createMessage('assistant', 'Hidden.');
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
  const middleware: Middleware = { wrapRequest: async (draft) => draft };
  expect(middleware.wrapRequest).toBeDefined();
});

test('readers get nothing of the reply to run.model.ask(), and its usage counts', async () => {
  const replies: string[] = [];
  const { agent } = setUp({
    wrapReply: async (reply, next, run) => {
      const judged = await run.model.ask(reply.request!);
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

test('run.ending.whenStopped() refuses a run that nothing has stopped', async () => {
  const { agent } = setUp({ wrapReply: (_reply, _next, run) => run.ending.whenStopped() });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test('if `wrapReply` asks again without storing the reply, readers get a `step-reset` first', async () => {
  let asked = 0;
  const { agent } = setUp({
    wrapReply: async (reply, next) => {
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
