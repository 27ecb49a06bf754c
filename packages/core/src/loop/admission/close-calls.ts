import type { EventBatch } from '../../event/agent-event.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import { inRequestOrder } from '../../message/tool-pairs.ts';
import { interruptedResult } from '../../tool/tool-result.ts';
import { controlOf, type Jump } from '../jump.ts';
import type { Run } from '../run.ts';

/** Ends a tool call: its result goes through the `post-acting` hooks and into the log. */
export async function conclude(
  run: Run,
  toolUse: ToolUse,
  result: ToolResult,
  asked: Jump[],
): Promise<EventBatch> {
  const event = await run.modify('post-acting', { toolUse, result }, controlOf(asked));
  await run.append([run.message('tool', [{ ...event.result, toolUseId: toolUse.id }])]);
  return [event];
}

/**
 * Law 3: gives each open tool call an `interrupted` result and puts all results where the model
 * wants them.
 */
export async function* closeCalls(run: Run): AsyncGenerator<EventBatch, void> {
  const { calls } = run.setup.status;
  for (const toolUse of run.openCalls()) {
    yield await conclude(run, toolUse, interruptedResult(toolUse, calls.get(toolUse.id)), []);
  }
  run.view = inRequestOrder(run.view) as Msg[];
}
