import { expect, test, vi } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { assistantMessage } from '../../message/msg.ts';
import { notStarted } from '../../tool/tool-call.ts';
import { tool, type Tool } from '../../tool/tool.ts';
import { liveRun, openWith, type LiveRunOptions } from '@test/support/live-run.ts';
import { reviewCalls } from './review-calls.ts';
import { runTool } from './run-tool.ts';

const use = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
const fromRound = { emit: () => {}, forward: () => {}, messages: [] };

function payWith(execute: NonNullable<Tool['execute']>): Tool {
  return { ...tool({ name: 'pay', description: 'Pays.', input: { type: 'object' } }), execute };
}

async function reviewed(pay: Tool, options: LiveRunOptions = {}) {
  const approvals = { name: 'approvals', on: {} };
  const tested = liveRun({ tools: [pay], ...options, use: [approvals, ...(options.use ?? [])] });
  await openWith(tested.live, assistantMessage([use]));
  const [call] = await reviewCalls(tested.live, tested.live.calls.open);
  return { ...tested, start: () => runTool(tested.live, call!, fromRound) };
}

test('a tool runs once the log has the note that it starts', async () => {
  const order: string[] = [];
  const memory = new SessionMemory(new MemoryStore(), 's');
  const pay = payWith(() => {
    order.push('tool');
    return 'paid';
  });
  const { live, start } = await reviewed(pay, { memory });
  const note = memory.note.bind(memory);
  vi.spyOn(memory, 'note').mockImplementation(async (notes, options) => {
    await note(notes, options);
    order.push(`${notes[0]!.kind}, written: ${options?.write}`);
  });
  expect(await start()).toMatchObject({ output: 'paid', state: 'success' });
  expect(order).toEqual(['call-started, written: true', 'tool']);
  expect(live.calls.stateOf(use)).toMatchObject({ started: true });
  expect([...live.totals.toolsUsed]).toEqual(['pay']);
});

test('a wrapper that runs a tool twice notes its start once', async () => {
  const execute = vi.fn(() => 'paid');
  const memory = new SessionMemory(new MemoryStore(), 's');
  const { start } = await reviewed(payWith(execute), {
    memory,
    use: [
      {
        wrapTool: async (call, next) => {
          await next(call);
          return next(call);
        },
      },
    ],
  });
  const note = vi.spyOn(memory, 'note');
  await start();
  expect(execute).toHaveBeenCalledTimes(2);
  expect(note).toHaveBeenCalledOnce();
});

test('a tool does not start after a stop, an interrupt or an abort', async () => {
  const execute = vi.fn(() => 'paid');
  const stops: ((live: ReturnType<typeof liveRun>['live']) => void)[] = [
    (live) => {
      live.calls.roundJump.jump = { at: 'pre-acting', to: 'stop' };
    },
    (live) => live.halt.stopWith({ kind: 'interrupted' }),
    (live) => live.halt.abort(),
  ];
  for (const stop of stops) {
    const { live, start } = await reviewed(payWith(execute));
    stop(live);
    expect(await start()).toBe(notStarted);
  }
  expect(execute).not.toHaveBeenCalled();
});

test('a run that is only suspended runs its open calls first', async () => {
  const { live, start } = await reviewed(payWith(() => 'paid'));
  live.halt.stopWith({ kind: 'suspended' });
  expect(await start()).toMatchObject({ output: 'paid' });
});

test('the tool of a call is looked up again if the tools have changed', async () => {
  const { live, start } = await reviewed(payWith(() => 'old'));
  live.tools.current = liveRun({ tools: [payWith(() => 'new')] }).live.tools.current;
  expect(await start()).toMatchObject({ output: 'new' });
  live.tools.current = liveRun().live.tools.current;
  expect(await start()).toMatchObject({ state: 'error' });
});

test('a TOOL_ERROR fails the run at once, and is the error result of its call', async () => {
  const { live, start } = await reviewed(
    payWith(() => {
      throw new AgentError('TOOL_ERROR', 'The bank is gone.');
    }),
  );
  expect(await start()).toMatchObject({ state: 'error', output: 'Error: The bank is gone.' });
  expect(live.halt.failure).toMatchObject({ code: 'TOOL_ERROR' });
});

test('a call stays open if its wrapper fails before the tool starts and after an abort', async () => {
  const { live, start } = await reviewed(
    payWith(() => 'paid'),
    {
      use: [
        {
          wrapTool: async () => {
            live.halt.abort();
            throw new Error('broken');
          },
        },
      ],
    },
  );
  expect(await start()).toBe(notStarted);
});

test('a result that a wrapper gives in place of the tool counts as a use, and an error does not', async () => {
  for (const state of ['success', 'error'] as const) {
    const execute = vi.fn(() => 'paid');
    const { live, start } = await reviewed(payWith(execute), {
      use: [
        {
          wrapTool: async ({ toolUse: { id: toolUseId, name } }) => ({
            type: 'tool_result',
            toolUseId,
            name,
            output: 'cached',
            state,
          }),
        },
      ],
    });
    expect(await start()).toMatchObject({ output: 'cached' });
    expect([...live.totals.toolsUsed]).toEqual(state === 'success' ? ['pay'] : []);
    expect(execute).not.toHaveBeenCalled();
  }
});
