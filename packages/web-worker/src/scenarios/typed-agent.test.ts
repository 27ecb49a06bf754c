import { AgentError, type AgentResult, type JsonObject } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import type { TypedAgents, TypedOptions } from '../../test-support/typed-worker.ts';

const start = (): Worker => {
  const worker = new Worker(new URL('../../test-support/typed-worker.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  return worker;
};

const gives = (input: JsonObject) => ({ toolCalls: [{ name: 'generate_response', input }] });
const bill = { total: 42, due: '2026-03-01' };

function connect(replies: TypedOptions['replies']) {
  return connectAgent<TypedAgents>(start(), {
    agent: 'clerk',
    sessionId: 's',
    timeoutMs: 120_000,
    options: { replies },
  });
}

test('a call returns the value of the named output, with the type that the worker declares', async () => {
  const result = await connect([gives(bill), 'not again']).call('What do I owe?', {
    output: 'invoice',
  });
  expectTypeOf(result.output).toEqualTypeOf<{ total: number; due: Date } | undefined>();
  expect(result.output).toEqual({ total: 42, due: new Date('2026-03-01') });
  expect(result.output?.due.getUTCFullYear()).toBe(2026);
});

test('a stream has the value of the named output in the result and in the last event', async () => {
  const agent = connect([gives(bill)]);
  const stream = agent.stream('What do I owe?', { output: 'invoice' });
  expectTypeOf(stream.result)
    .resolves.toHaveProperty('output')
    .toEqualTypeOf<{ total: number; due: Date } | undefined>();
  const ends: unknown[] = [];
  for await (const event of stream) if (event.type === 'run-end') ends.push(event.result.output);
  const value = { total: 42, due: new Date('2026-03-01') };
  expect(ends).toEqual([value]);
  expect((await stream.result).output).toEqual(value);
});

test('a call without a named output has no output', async () => {
  const result = await connect(['Nothing.']).call('What do I owe?');
  expectTypeOf(result.output).toEqualTypeOf<undefined>();
  expect(result).not.toHaveProperty('output');
});

test('an answer that does not fit the schema fails with OUTPUT_INVALID and its issues', async () => {
  const call = connect(Array.from({ length: 4 }, () => gives({ total: 'much' }))).call('?', {
    output: 'invoice',
  });
  await expect(call).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    details: { issues: expect.any(Array) },
  });
});

test.for(['call', 'stream'] as const)(
  '%s: an unknown output name fails with INVALID_INPUT and lists the known names',
  async (how) => {
    const agent: RemoteAgent = connect(['never asked']);
    for (const output of ['bill', 'toString']) {
      const result =
        how === 'call' ? agent.call('?', { output }) : agent.stream('?', { output }).result;
      await expect(result).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: `The worker has no output "${output}"; exposeAgent() has invoice, names, check.`,
      });
    }
    expect(await agent.messages()).toEqual([]);
  },
);

test.for(['call', 'stream'] as const)(
  '%s: an output value that cannot be cloned fails with a code',
  async (how) => {
    const agent = connect([gives({ n: 1 })]);
    const result =
      how === 'call'
        ? agent.call('?', { output: 'check' })
        : agent.stream('?', { output: 'check' }).result;
    const error = await result.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AgentError);
    expect(error).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('could not be cloned'),
    });
  },
);

test('an output object instead of its name fails with INVALID_INPUT, because functions cannot be cloned', async () => {
  const agent: RemoteAgent = connect([]);
  await expect(agent.call('?', { output: structured(z.string()) as never })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  // The worker may be too young to tell its end.
  agent.close();
});

/** Contains mistakes that the type checker must find. No test calls this function. */
export function mistakesOfTypes(worker: Worker): void {
  const options: TypedOptions = { replies: [] };
  const sessionId = 's';
  // @ts-expect-error: `agent` is required
  connectAgent<TypedAgents>(worker, { sessionId, options });
  // @ts-expect-error: the worker has no agent of that name
  connectAgent<TypedAgents>(worker, { sessionId, options, agent: 'chef' });
  // @ts-expect-error: the factory requires options
  connectAgent<TypedAgents>(worker, { sessionId, agent: 'clerk' });
  // @ts-expect-error: the options have the wrong type
  connectAgent<TypedAgents>(worker, { sessionId, agent: 'clerk', options: { replies: 7 } });
  // @ts-expect-error: `sessionId` is required
  connectAgent(worker, {});
  const agent = connectAgent<TypedAgents>(worker, {
    sessionId,
    agent: 'auditor',
    options,
    timeoutMs: 5,
  });
  // @ts-expect-error: the agent has no output of that name
  void agent.call('?', { output: 'bill' });
  // @ts-expect-error: a page cannot send a context
  void agent.call('?', { context: [] });
  expectTypeOf(agent.call('?', { output: 'names' })).resolves.toEqualTypeOf<
    AgentResult<string[]>
  >();
  expectTypeOf(agent.resume({ output: 'names' })).resolves.toEqualTypeOf<AgentResult<string[]>>();
  expectTypeOf(agent.decide([], { output: 'names' })).resolves.toEqualTypeOf<
    AgentResult<string[]>
  >();
  const untyped = connectAgent(worker, { sessionId, agent: 'any', options: new Map() });
  expectTypeOf(untyped.call('?', { output: 'any' })).resolves.toEqualTypeOf<AgentResult<unknown>>();
  expectTypeOf(untyped).toEqualTypeOf<RemoteAgent>();
  expectTypeOf(agent).toExtend<Pick<RemoteAgent, 'messages' | 'chatTransport' | 'close'>>();

  const single = exposeAgent(
    ({ options: given }: WorkerAgentSetup<{ readonly key: string }>) => given.key as never,
  );
  connectAgent<typeof single>(worker, { sessionId, options: { key: 'k' } });
  // @ts-expect-error: a single agent has no name
  connectAgent<typeof single>(worker, { sessionId, options: { key: 'k' }, agent: 'clerk' });
  const plain = exposeAgent(({ memory }) => memory as never);
  void connectAgent<typeof plain>(worker, { sessionId }).call('?');
  // @ts-expect-error: the worker exposes no outputs
  void connectAgent<typeof plain>(worker, { sessionId }).call('?', { output: 'x' });
  const free = exposeAgent(
    ({ options: given }: WorkerAgentSetup<{ readonly key: string } | null>) => given as never,
  );
  connectAgent<typeof free>(worker, { sessionId });
  // @ts-expect-error: an agent is not a factory
  exposeAgent({ name: 'agent' });
  // @ts-expect-error: a number is not a factory
  exposeAgent(7);
}
