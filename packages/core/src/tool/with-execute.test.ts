import { expect, test } from 'vitest';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import { toolResultsOf, type Msg } from '../message/msg.ts';
import { approvals } from '../approval/approvals.ts';
import { withExecute } from './tool-call.ts';
import { tool } from './tool.ts';

/** Returns middleware that says in the result that it ran around the tool. */
function around(name: string): Middleware {
  return {
    name,
    wrapTool: (call, next) =>
      next(
        withExecute(call, async (execute, input, context) => {
          return `${name}(${String(await execute(input, context))})`;
        }),
      ),
  };
}

const counter = {
  ...tool({ name: 'count', description: '', input: { type: 'object' } }),
  step: 2,
  execute(input: unknown): string {
    return String(this.step * Number(Object(input)['n']));
  },
};

function outputsOf(messages: readonly Msg[]): readonly unknown[] {
  return messages.flatMap(toolResultsOf).map(({ output }) => output);
}

test('of several functions around a tool, that of the first middleware is the outermost', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'count', input: { n: 1 } }] }, 'done'], {
    tools: [counter],
    use: [around('first'), around('second')],
  });
  await agent.call('Go');
  expect(outputsOf(await agent.messages())).toEqual(['first(second(2))']);
});

test('the functions around a tool also run around a call with edited arguments', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'count', input: { n: 1 } }] }, 'done'], {
    tools: [counter],
    use: [
      around('outside'),
      approvals({
        needsApproval: { count: true },
        decide: () => ({ type: 'edit', input: { n: 5 } }),
      }),
      around('inside'),
    ],
  });
  await agent.call('Go');
  expect(outputsOf(await agent.messages())).toEqual(['outside(inside(10))']);
});

test('a tool that returns a thenable runs once, also if each then() runs it', async () => {
  let runs = 0;
  const query = {
    // oxlint-disable-next-line unicorn/no-thenable -- the test is about a thenable
    then(resolve: (value: string) => void) {
      runs += 1;
      resolve(`run ${runs}`);
    },
  };
  const insert = tool({
    name: 'insert',
    description: '',
    input: { type: 'object' },
    execute: () => query as unknown as Promise<string>,
  });
  const passOn: Middleware = {
    wrapTool: (call, next) =>
      next(withExecute(call, (execute, input, context) => execute(input, context))),
  };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'insert' }] }, 'done'], {
    tools: [insert],
    use: [passOn],
  });
  await agent.call('Go');
  expect(outputsOf(await agent.messages())).toEqual(['run 1']);
});

test('the functions around a tool are not called for a tool without execute', async () => {
  const ask = tool({ name: 'ask', description: '', input: { type: 'object' } });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'ask' }] }, 'done'], {
    tools: [ask],
    use: [around('first')],
  });
  const [call] = (await agent.call('Go')).pending;
  const { toolUseId, name, kind } = call!;
  expect(kind).toBe('external');
  await agent.call([{ type: 'result', toolUseId, name, output: 'here' }]);
  expect(outputsOf(await agent.messages())).toEqual(['here']);
});
