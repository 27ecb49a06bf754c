import { ToolQueue, type ToolQueueItem } from '../../tool/tool-queue.ts';
import type { Round } from '../middleware.ts';
import type { Next } from '../next.ts';
import type { RequestPrompt } from '../run/request-prompt.ts';
import type { StepParts } from '../run/step-parts.ts';
import { recordOutcome } from './close-calls.ts';
import { endStopped } from './finish.ts';
import { jumpOfRound } from './jump.ts';
import { reviewCalls } from './review-calls.ts';
import { runTool, type ToolParts } from './run-tool.ts';

/** The parts of a run that carry out a round of tool calls. */
interface RoundParts extends ToolParts {
  readonly prompt: RequestPrompt;
}

/** Runs the open tool calls inside `wrapRound`, and says what follows. */
export async function act(live: RoundParts): Promise<Next> {
  const round: Round = { calls: live.calls.open };
  try {
    return await live.wrappers.run('wrapRound', round, (changed) => innerRound(live, changed));
  } catch (thrown) {
    if (live.halt.isStop(thrown)) return endStopped(live);
    // After a failure, the other tools must stop. While tools run, a rejection is a failure, too.
    live.halt.fail(live.waits.failureOf(thrown));
    throw live.halt.signal.reason;
  }
}

/**
 * Reviews the calls in order. Then starts their tools at the same time. Results enter the log as
 * they arrive. A call has three forms. `call.open.toolUse` is that of the model or of an earlier
 * run, `call.prepared.toolUse` that of this run's hooks. The tool gets that of the wrappers.
 */
async function innerRound(live: RoundParts, { calls, parallelTools }: Round): Promise<Next> {
  const reviewed = await reviewCalls(live, calls);
  const queue = new ToolQueue(parallelTools ?? live.options.limits.parallelTools);
  const messages = live.prompt.messages;
  for (const call of reviewed)
    queue.start(call.prepared.toolUse, (sink) => runTool(live, call, { ...sink, messages }));
  for (let items = await queue.next(); items; items = await queue.next()) {
    for (const item of items) {
      // After a failure, such as a full store, the other tools stop. Their results still count.
      await handle(live, item).catch((error: unknown) => live.halt.fail(error));
    }
  }
  live.halt.signal.throwIfAborted();
  const next = await jumpOfRound(live);
  if (next) return next;
  if (live.halt.stopped) return endStopped(live);
  if (!live.calls.pending.length) return { to: 'model' };
  return { kind: 'unanswered', reason: 'suspended', message: live.log.lastReply };
}

/** Handles what a running tool has put into the queue. */
async function handle(live: StepParts, item: ToolQueueItem): Promise<void> {
  const { toolUse } = item;
  if (item.type === 'events') return live.outbox.tellReaders(item.events);
  if (item.type === 'outcome') {
    // A decision may have changed the arguments. A wrapper may have closed the call.
    const state = live.calls.stateOf(toolUse);
    return state && recordOutcome(live, state.toolUse ?? toolUse, item.outcome);
  }
  // After an abort, nobody needs progress events, and a hook could hang.
  if (live.halt.aborted) return;
  return live.outbox.emit('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
}
