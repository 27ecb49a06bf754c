import { expect, test, vi } from 'vitest';
import { userMessage } from '../../message/msg.ts';
import { notStarted, toolResult, type ToolCall, type ToolOutcome } from '../../tool/tool-call.ts';
import type { ParsedInput } from '../../event/agent-input.ts';
import type { Next } from '../next.ts';
import type { Middleware, Reply } from '../middleware.ts';
import { liveRun } from '@test/support/live-run.ts';

const reply = { message: userMessage('Hi.'), reason: 'stopped-by-hook' } as Reply;
const toModel: Next = { to: 'model' };
const use = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
const call = { tool: {}, toolUse: use } as unknown as ToolCall;
const paid = toolResult(use, 'paid', 'success');

function marking(order: string[], mark: string): Middleware {
  return {
    wrapReply: async (input, next) => {
      order.push(`${mark} in`);
      const outcome = await next(input);
      order.push(`${mark} out`);
      return outcome;
    },
  };
}

test('the first middleware is the outermost, and the step comes last', async () => {
  const order: string[] = [];
  const { live } = liveRun({ use: [marking(order, 'one'), {}, marking(order, 'two')] });
  const outcome = await live.wrappers.run('wrapReply', reply, async () => {
    order.push('step');
    return toModel;
  });
  expect(outcome).toBe(toModel);
  expect(order).toEqual(['one in', 'two in', 'step', 'two out', 'one out']);
});

test('without a wrapper, the step gets the input at once', async () => {
  const inner = vi.fn(async () => toModel);
  await liveRun().live.wrappers.run('wrapReply', reply, inner);
  expect(inner).toHaveBeenCalledWith(reply);
});

test('a wrapper gets the run of the middleware, and may answer without its next', async () => {
  const { live } = liveRun({
    use: [
      {
        wrapReply: async (_input, _next, given) => {
          expect(given).toBe(live.run);
          return { to: 'tools' };
        },
      },
    ],
  });
  const inner = vi.fn(async () => toModel);
  expect(await live.wrappers.run('wrapReply', reply, inner)).toEqual({ to: 'tools' });
  expect(inner).not.toHaveBeenCalled();
});

test.each<[what: string, wrapper: unknown, problem: RegExp]>([
  ['a function', () => async () => toModel, /returned a function\. Its shape is async wrapReply/],
  ['nothing', () => undefined, /returned no promise/],
  ['a value of another step', async () => ({ text: 'x' }), /The result of wrapReply\(\) of "odd"/],
])('a wrapper that returns %s is named', async (_what, wrapReply, problem) => {
  const { live } = liveRun({ use: [{ name: 'odd', wrapReply: wrapReply as never }] });
  const work = live.wrappers.run('wrapReply', reply, async () => toModel);
  await expect(work).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringMatching(problem) as string,
  });
});

test('`recover` gives the outcome of each wrapper that fails, and of a step without wrappers', async () => {
  const errors: unknown[] = [];
  const recover = async (thrown: unknown): Promise<Next> => {
    errors.push((thrown as Error).message);
    return toModel;
  };
  const failing = (mark: string): Middleware => ({
    wrapReply: async (input, next) => {
      await next(input);
      throw new Error(mark);
    },
  });
  const { live } = liveRun({ use: [failing('outer'), failing('inner')] });
  const step = async (): Promise<Next> => toModel;
  expect(await live.wrappers.run('wrapReply', reply, step, recover)).toBe(toModel);
  expect(errors).toEqual(['inner', 'outer']);
  const broken = (): Promise<Next> => Promise.reject(new Error('step'));
  expect(await liveRun().live.wrappers.run('wrapReply', reply, broken, recover)).toBe(toModel);
  expect(errors.at(-1)).toBe('step');
});

test('after an abort, an input that a wrapper has admitted is not used', async () => {
  const input: ParsedInput = { messages: [], decisions: [] };
  const { live } = liveRun({
    use: [
      {
        wrapInput: async (given, next) => {
          live.halt.abort(new Error('gone'));
          return next(given);
        },
      },
    ],
  });
  await expect(live.wrappers.run('wrapInput', input, async (each) => each)).rejects.toThrow('gone');
});

test('wrapTool may call its next several times, and its result gets the id of the call', async () => {
  const { live } = liveRun({
    use: [
      {
        wrapTool: async (given, next) => {
          await next(given);
          return { ...((await next(given)) as typeof paid), toolUseId: 'other' };
        },
      },
    ],
  });
  const inner = vi.fn(async (): Promise<ToolOutcome> => paid);
  expect(await live.wrappers.runTool(call, inner)).toEqual(paid);
  expect(inner).toHaveBeenCalledTimes(2);
});

test.each([
  ['its tool has not started', false, notStarted],
  ['its tool has started', true, { state: 'interrupted' }],
])(
  'a tool call that an abort ends while %s has the outcome for that',
  async (_when, started, outcome) => {
    const { live } = liveRun({
      use: [
        {
          wrapTool: () => {
            live.halt.abort(new Error('gone'));
            return new Promise(() => {});
          },
        },
      ],
    });
    live.status.calls.set('c', { started });
    expect(await live.wrappers.runTool(call, async () => paid)).toMatchObject(outcome);
  },
);

test('an error of wrapTool that is no abort is thrown', async () => {
  const wrapTool = (): Promise<never> => Promise.reject(new Error('broken'));
  const { live } = liveRun({ use: [{ wrapTool }] });
  await expect(live.wrappers.runTool(call, async () => paid)).rejects.toThrow('broken');
});
