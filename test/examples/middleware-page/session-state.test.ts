import { expect, test } from 'vitest';
import { Agent } from '@isoloop/core/agent';
import {
  MemoryStore,
  SessionMemory,
  type Middleware,
  type Run,
  type ToolResult,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';

test('a middleware of your own keeps a value in the session, and another agent reads it', async () => {
  // #region session-state
  const visits: Middleware = {
    wrapSettle: (input, next, run) => {
      run.state['visits'] = Number(run.state['visits'] ?? 0) + 1;
      return next(input);
    },
  };
  // #endregion

  const store = new MemoryStore();
  const visit = async (): Promise<unknown> => {
    const memory = new SessionMemory(store, 's');
    const model = new ScriptedModel(['Welcome.']);
    const agent = new Agent({ name: 'guide', model, memory, use: [visits] });
    await agent.call('Hello');
    return agent.status.state['visits'];
  };
  expect(await visit()).toBe(1);
  expect(await visit()).toBe(2);
});

test('a tool result is a value of the session only with a cast', () => {
  const keep = (run: Run, result: ToolResult): void => {
    // @ts-expect-error An interface has no index signature.
    run.state['result'] = result;
    run.state['output'] = typeof result.output === 'string' ? result.output : null;
  };
  expect(keep).toBeTypeOf('function');
});
