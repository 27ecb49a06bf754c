import { AgentError, messageOf } from '../../error/agent-error.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import { forModel } from '../../message/tool-pairs.ts';
import { interruptedResult, mayHaveStarted } from '../../tool/tool-result.ts';
import { controlOf, type Jump } from '../jump.ts';
import type { Run } from '../run/run.ts';

/**
 * Ends a tool call: runs the `post-acting` hooks on its result and appends the result to the log.
 */
export async function conclude(
  run: Run,
  toolUse: ToolUse,
  result: ToolResult,
  asked: Jump[],
): Promise<void> {
  const event = await run.modify(
    'post-acting',
    { toolUse, result },
    controlOf(asked, 'post-acting'),
  );
  await run.append([run.message('tool', [{ ...event.result, toolUseId: toolUse.id }])]);
  await run.push([event]);
}

/**
 * Function that returns the result text for an open tool call. `started`: whether the tool may have
 * started.
 */
type Words = (toolUse: ToolUse, about: { readonly started: boolean }) => string;

/**
 * Gives each open tool call an `interrupted` result. Then sorts the conversation as models require:
 * each result follows its tool call.
 */
export async function closeCalls(run: Run, words?: Words): Promise<void> {
  const { calls } = run.setup.status;
  for (const toolUse of run.openCalls()) {
    const state = calls.get(toolUse.id);
    const result = interruptedResult(toolUse, state);
    const output = words ? said(words, toolUse, mayHaveStarted(state)) : result.output;
    await conclude(run, toolUse, { ...result, output }, []);
  }
  run.view = forModel(run.view) as Msg[];
}

function said(words: Words, toolUse: ToolUse, started: boolean): string {
  try {
    return words(toolUse, { started });
  } catch (cause) {
    const message = `closeOpenCall failed: ${messageOf(cause)}`;
    throw new AgentError('HOOK_ERROR', message, { cause });
  }
}
