import { expect, test } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { outputText, toolResultsOf } from '../../message/msg.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { look } from '@test/support/plain-tools.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { Agent } from '../agent.ts';
import type { Middleware, Run } from '../middleware.ts';

/** The failure of an agent call with one tool and this middleware, which is named `mine`. */
async function failureOf(middleware: Middleware): Promise<unknown> {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: look.name }] }, 'Done.'], {
    tools: [look],
    use: [{ name: 'mine', ...middleware }],
  });
  return agent.call('go').then(
    () => undefined,
    (error: unknown) => error,
  );
}

const wrappers = [
  'wrapRun',
  'wrapInput',
  'wrapSettle',
  'wrapRequest',
  'wrapReply',
  'wrapRound',
  'wrapTool',
] as const;

/** Returns a middleware whose wrapper `key` is this function. */
function wrapperOf(
  key: string,
  wrap: (input: never, next: (value: never) => Promise<unknown>) => unknown,
): Middleware {
  return { [key]: wrap } as Middleware;
}

for (const key of wrappers) {
  test(`an error of ${key} fails the agent call with the name of the middleware`, async () => {
    const thrown = new TypeError('boom');
    const message = `${key}() of "mine" failed: boom`;
    const expected = { code: 'INTERNAL', message, cause: thrown };
    const early = wrapperOf(key, async () => {
      throw thrown;
    });
    expect(await failureOf(early)).toMatchObject(expected);
    const late = wrapperOf(key, async (input, next) => {
      await next(input);
      throw thrown;
    });
    expect(await failureOf(late)).toMatchObject(expected);
    const unawaited = wrapperOf(key, (input, next) => {
      void next(input);
      throw thrown;
    });
    expect(await failureOf(unawaited)).toMatchObject(expected);
  });

  test(`an AgentError of ${key} stays as it is`, async () => {
    const thrown = new AgentError('TOOL_ERROR', 'boom');
    const middleware = wrapperOf(key, async () => {
      throw thrown;
    });
    expect(await failureOf(middleware)).toBe(thrown);
  });
}

test('an error that passes several wrappers has the name of the one that threw it', async () => {
  const seen: unknown[] = [];
  const thrown = new TypeError('boom');
  const outer: Middleware = {
    name: 'outer',
    wrapReply: async (reply, next) => {
      try {
        return await next(reply);
      } catch (error) {
        seen.push(error);
        throw error;
      }
    },
  };
  const inner: Middleware = {
    name: 'inner',
    wrapReply: async () => {
      throw thrown;
    },
  };
  const { agent } = scriptedAgent(['Done.'], { use: [outer, inner] });
  await expect(agent.call('go')).rejects.toThrow('wrapReply() of "inner" failed: boom');
  expect(seen).toEqual([thrown]);
});

test('an error of the step inside has no name of a wrapper', async () => {
  const failing: Middleware = { wrapReply: async (reply, next) => ({ ...(await next(reply)) }) };
  const { agent } = scriptedAgent([], { use: [{ name: 'mine', ...failing }] });
  const append = agent.memory.append.bind(agent.memory);
  agent.memory.append = (messages, options) =>
    messages.some(({ role }) => role === 'user')
      ? Promise.reject(new TypeError('full'))
      : append(messages, options);
  const settling: Middleware = {
    name: 'settling',
    wrapSettle: async (input, next) => {
      const after = await next(input);
      return after;
    },
  };
  const error: unknown = await agent.call('go', { use: [settling] }).catch((thrown) => thrown);
  expect((error as Error).message).not.toContain('settling');
  expect((error as Error).message).toContain('full');
});

test('an error of the log while a tool starts has no name of a wrapper', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const note = memory.note.bind(memory);
  memory.note = (notes, options) =>
    notes.some(({ kind }) => kind === 'call-started')
      ? Promise.reject(new TypeError('full'))
      : note(notes, options);
  const passing: Middleware = { wrapTool: async (call, next) => await next(call) };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: look.name }] }, 'Done.'], {
    tools: [look],
    memory,
    use: [
      { name: 'outer', ...passing },
      { name: 'inner', ...passing },
    ],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'INTERNAL', message: 'full' });
});

test('an error of `wrapModel` names the middleware, in an agent and in an agent call', async () => {
  const middleware: Middleware = {
    name: 'mine',
    wrapModel() {
      throw new TypeError('boom');
    },
  };
  const model = new ScriptedModel(['Done.']);
  const expected = { code: 'INTERNAL', message: 'wrapModel() of "mine" failed: boom' };
  expect(() => new Agent({ name: 'a', model, use: [middleware] })).toThrow(
    expect.objectContaining(expected),
  );
  const agent = new Agent({ name: 'a', model });
  await expect(agent.call('go', { use: [middleware] })).rejects.toMatchObject(expected);
});

test('the result of `wrapTool` that is none tells the model which middleware gave it', async () => {
  const wrong = wrapperOf('wrapTool', async () => 'ready');
  const { agent } = scriptedAgent([{ toolCalls: [{ name: look.name }] }, 'Done.'], {
    tools: [look],
    use: [{ name: 'mine', ...wrong }],
  });
  await agent.call('go');
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  expect(outputText(result!.output)).toBe(
    `Error: The result of wrapTool() of "mine" for "${look.name}" must be a \`ToolResult\`, ` +
      'such as that of `next`.',
  );
});

test('an ending with a reason that does not exist fails the agent call', async () => {
  const made = (run: Run) => run.createMessage('assistant', 'x');
  const ending: Middleware = {
    wrapRequest: async (_draft, _next, run) => run.ending.reply(made(run), 'finished' as 'limit'),
  };
  expect(await failureOf(ending)).toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('run.ending.reply(): reason must be'),
  });
  const own: Middleware = {
    wrapRequest: async (_draft, _next, run) => {
      return { kind: 'custom', reason: 'finished' as 'limit', message: made(run) };
    },
  };
  expect(await failureOf(own)).toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('The result of wrapRequest() of "mine": reason must be'),
  });
  const result = wrapperOf('wrapRun', async (input, next) => ({
    ...((await next(input)) as object),
    reason: 'finished',
  }));
  expect(await failureOf(result)).toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('The result of wrapRun() of "mine": reason must be'),
  });
});

const wrongUses: readonly (readonly [words: string, misuse: (run: Run) => unknown])[] = [
  ['run.prompt.set(): text must be a string; got 1', (run) => run.prompt.set(1 as never)],
  ['run.prompt.append(): text must be', (run) => run.prompt.append(undefined as never)],
  ['run.prompt.include(): messages must be', (run) => run.prompt.include('hello' as never)],
  [
    'run.prompt.includeLast(): messages must be',
    (run) => run.prompt.includeLast(run.createMessage('user', 'x') as never),
  ],
  [
    'run.prompt.include(): messages must be an array of messages',
    (run) => run.prompt.include([{ role: 'user', content: 'hello' } as never]),
  ],
  [
    'run.log.edit(): append must be an array of messages',
    (run) => run.log.edit({ append: [{ role: 'user', content: 'hello' } as never] }),
  ],
  [
    'run.log.edit(): replace must be an array of messages',
    (run) => run.log.edit({ replace: ['hello' as never] }),
  ],
  ['run.tools.add(): tools must be an array', (run) => run.tools.add(look as never)],
  ['tool()', (run) => run.tools.add([{ name: 'x' } as never])],
  ['run.tools.set(): tools must be a tool set', (run) => run.tools.set([look] as never)],
  ['run.ending.before(): work must be', (run) => run.ending.before(1 as never)],
];

for (const [words, misuse] of wrongUses) {
  test(`a wrong argument is refused where it is passed: ${words}`, async () => {
    const middleware: Middleware = {
      wrapSettle: async (input, next, run) => {
        await misuse(run);
        return next(input);
      },
    };
    expect(await failureOf(middleware)).toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(words),
    });
  });
}

test('an AgentError in a warning and in an ending becomes plain data', async () => {
  const warned: Middleware = {
    wrapRequest: async (_draft, _next, run) => {
      run.ending.addToResult({ warning: new AgentError('TOOL_ERROR', 'slow') });
      const message = run.createMessage('assistant', 'No.');
      const error = new AgentError('GUARD_REJECTED', 'No.');
      return { kind: 'custom', reason: 'rejected', message, error };
    },
  };
  const { agent } = scriptedAgent([], { use: [warned] });
  const { warnings, error } = await agent.call('go');
  // A copy for another thread keeps no fields of an error.
  expect(structuredClone(warnings)).toEqual([new AgentError('TOOL_ERROR', 'slow').toJSON()]);
  expect(structuredClone(error)).toMatchObject({ code: 'GUARD_REJECTED', message: 'No.' });
});

test('`mapEvent` changes the error with which an agent call rejects', async () => {
  const failure = new AgentError('MODEL_SERVER', 'card 4111', { retryable: true });
  const masked: Middleware = {
    mapEvent: (event) =>
      event.type === 'error'
        ? { ...event, error: { ...event.error, message: 'card ****' } }
        : undefined,
  };
  const { agent } = scriptedAgent([{ error: failure }], { use: [masked] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'MODEL_SERVER',
    message: 'card ****',
    retryable: true,
    cause: failure,
  });
});

test('an error that `mapEvent` leaves alone is the one that was thrown', async () => {
  const failure = new AgentError('MODEL_SERVER', 'down');
  const { agent } = scriptedAgent([{ error: failure }], { use: [{ mapEvent: () => {} }] });
  await expect(agent.call('go')).rejects.toBe(failure);
});
