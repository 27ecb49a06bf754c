import { toolMessage } from '../message/create-message.ts';
import { inRequestOrder } from '../message/tool-pairs.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { EventBatch } from '../hook/agent-event.ts';
import { prepareCall, type PreparedCall } from '../tool/prepare-call.ts';
import { runCall } from '../tool/run-call.ts';
import { deniedResult, interruptedResult } from '../tool/tool-result.ts';
import { recover } from './interruption.ts';
import type { Step } from './move.ts';
import type { Run } from './run.ts';
import { ToolQueue } from './tool-queue.ts';

/** Runs the calls of one reply, in parallel; results enter the log as they come, the view in the order they were asked for. */
export async function* act(run: Run, toolUses: readonly ToolUse[]): Step {
  const from = run.view.length;
  const state = { stopped: false };
  let done = false;
  try {
    const ready: Extract<PreparedCall, { ok: true }>[] = [];
    for (const toolUse of toolUses) {
      const { events, call } = await prepare(run, toolUse);
      if (events.length) yield events;
      if (call.ok) ready.push(call);
      else yield await conclude(run, call.toolUse, call.result, state);
    }
    const queue = new ToolQueue({ concurrency: run.setup.options.limits?.parallelTools ?? Infinity });
    const messages = run.request();
    for (const call of ready) {
      const idempotencyKey = `${run.setup.sessionId}:${call.toolUse.id}`;
      queue.start(call.toolUse, (emit) => runCall(call, { messages, idempotencyKey, signal: run.signal, emit }));
    }
    for await (const items of queue.drain()) {
      for (const item of items) {
        const { toolUse } = item;
        if (item.type === 'progress') yield await run.notify('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
        else yield await conclude(run, toolUse, item.result, state);
      }
    }
    done = true;
  } finally {
    // A failure on the way (a hook that threw, a full store) must not leave the sibling calls running.
    if (!done) run.abort();
  }
  run.view = [...run.view.slice(0, from - 1), ...inRequestOrder(run.view.slice(from - 1))];
  if (state.stopped) return { to: 'finish', reason: 'stopped-by-hook', message: run.view[from - 1]! };
  if (run.cut) return yield* recover(run);
  return { to: 'reason' };
}

/** Checks one call and asks the hooks; a hook's new arguments are checked again. */
async function prepare(run: Run, toolUse: ToolUse): Promise<{ readonly events: EventBatch; readonly call: PreparedCall }> {
  const { toolkit } = run.setup;
  if (run.signal.aborted) return { events: [], call: { ok: false, toolUse, result: interruptedResult(toolUse) } };
  if (toolkit.get(toolUse.name)) run.toolsUsed.add(toolUse.name);
  const call = await prepareCall(toolkit, toolUse);
  if (!call.ok) return { events: [], call };
  const asked: { rejected?: string } = {};
  const event = await run.modify('pre-acting', { toolUse }, { reject: (reason) => void (asked.rejected = reason) });
  // A call keeps its id: its result has to answer what the model asked.
  const edited = { ...event.toolUse, id: toolUse.id };
  if (asked.rejected !== undefined) {
    return { events: [event], call: { ok: false, toolUse: edited, result: deniedResult(edited, asked.rejected) } };
  }
  return { events: [event], call: event.toolUse === toolUse ? call : await prepareCall(toolkit, edited) };
}

async function conclude(run: Run, toolUse: ToolUse, result: ToolResult, state: { stopped: boolean }): Promise<EventBatch> {
  const event = await run.modify('post-acting', { toolUse, result }, { stop: () => void (state.stopped = true) });
  await run.append([toolMessage({ ...event.result, toolUseId: toolUse.id }, run.setup)]);
  return [event];
}
