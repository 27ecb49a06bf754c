import { ToolQueue, type ToolQueueItem } from '../../tool/tool-queue.ts';
import type { Round } from '../middleware.ts';
import type { Next } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import { runWrapped } from '../run/wrapped-step.ts';
import { recordOutcome, type CloseParts } from './close-calls.ts';
import { endStopped, type EndParts } from './finish.ts';
import { jumpOfRound } from './jump.ts';
import { reviewCalls } from './review-calls.ts';
import { runTool, type ToolParts } from './run-tool.ts';

/** The parts of a run that carry out a round of tool calls. */
type ActParts = EndParts & ToolParts & Pick<LiveRun, 'prompt'>;

/** Runs the open tool calls inside `wrapRound`, and says what follows. */
export async function act(run: ActParts): Promise<Next> {
  const round: Round = { calls: run.calls.open };
  try {
    return await runWrapped(run, 'wrapRound', round, (changed) => innerRound(run, changed));
  } catch (thrown) {
    if (run.waits.isStop(thrown)) return endStopped(run);
    // After a failure, the other tools must stop. While tools run, a rejection is a failure, too.
    run.ending.fail(thrown);
    throw run.ending.signal.reason;
  }
}

/**
 * Reviews the calls in order. Then starts their tools at the same time. Results enter the log as
 * they arrive. A call has three forms. `call.open.toolUse` is that of the model or of an earlier
 * run, `call.prepared.toolUse` that of this run's hooks. The tool gets that of the wrappers.
 */
async function innerRound(run: ActParts, { calls, parallelTools }: Round): Promise<Next> {
  const reviewed = await reviewCalls(run, calls);
  const queue = new ToolQueue(parallelTools ?? run.options.limits.parallelTools);
  const messages = run.prompt.messages;
  for (const call of reviewed)
    queue.start(call.prepared.toolUse, (sink) => runTool(run, call, { ...sink, messages }));
  for (let items = await queue.next(); items; items = await queue.next()) {
    for (const item of items) {
      // After a failure, such as a full store, the other tools stop. Their results still count.
      await handle(run, item).catch((error: unknown) => run.ending.fail(error));
    }
  }
  run.ending.signal.throwIfAborted();
  const next = await jumpOfRound(run);
  if (next) return next;
  if (run.ending.stopped) return endStopped(run);
  if (!run.calls.pending.length) return { to: 'model' };
  return { kind: 'unanswered', reason: 'suspended', message: run.log.lastReply };
}

/** Handles what a running tool has put into the queue. */
async function handle(run: CloseParts, item: ToolQueueItem): Promise<void> {
  const { toolUse } = item;
  if (item.type === 'events') return run.outbox.tellReaders(item.events);
  if (item.type === 'outcome') {
    // A decision may have changed the arguments. A wrapper may have closed the call.
    const state = run.calls.stateOf(toolUse);
    return state && recordOutcome(run, state.toolUse ?? toolUse, item.outcome);
  }
  // After an abort, nobody needs progress events, and a hook could hang.
  if (run.ending.aborted) return;
  return run.outbox.emit('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
}
