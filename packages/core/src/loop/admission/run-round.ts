import type { Decision } from '../../event/pending-call.ts';
import { isSuspension } from '../../tool/run-call.ts';
import type { Jump } from '../jump.ts';
import type { Run } from '../run/run.ts';
import { suspend } from './admit-call.ts';
import { admitRound } from './admit-round.ts';
import { conclude } from './close-calls.ts';
import { startCalls } from './start-calls.ts';
import { toolQueue, type ToolQueueItem } from './tool-queue.ts';

/**
 * Runs the open tool calls in parallel. Results enter the log as they arrive; `closeCalls` later
 * sorts `run.view` by the order of the tool calls. Adds the jumps that hooks request to `asked`.
 * After a `stop` or a failure, no further tool starts. `decisions`: decisions about tool calls of
 * an earlier run.
 */
export async function runRound(
  run: Run,
  decisions: readonly Decision[] | undefined,
  asked: Jump[],
): Promise<void> {
  const isStopped = (): boolean => asked.some(({ to }) => to === 'stop');
  const ready = await admitRound(run, { decisions, asked, isStopped });
  const queue = toolQueue(run.setup.options.limits?.parallelTools);
  startCalls(run, queue, { ready, isStopped });
  for await (const items of queue.drain()) {
    for (const item of items) await take(run, item, asked);
  }
}

async function take(run: Run, item: ToolQueueItem, asked: Jump[]): Promise<void> {
  const { toolUse } = item;
  if (item.type === 'events') return run.push(run.adopt(item.events));
  if (item.type === 'progress') {
    // After an abort, nobody needs progress events, and a hook could hang.
    if (run.signal.aborted) return;
    return run.tell('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
  }
  const { outcome } = item;
  // The tool has not started, and its call stays open.
  if (!outcome) return;
  if (isSuspension(outcome)) {
    const { suspended, ...about } = outcome;
    suspend(run, toolUse, 'suspended', suspended || undefined, about);
    return;
  }
  const { toolUse: ran = toolUse } = run.setup.status.calls.get(toolUse.id) ?? {};
  await conclude(run, ran, outcome, { asked });
}
