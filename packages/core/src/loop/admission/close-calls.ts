import { AgentError, messageOf } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import { interruptedResult, mayHaveStarted, toolResult } from '../../tool/tool-result.ts';
import { controlOf, type Jump } from '../jump.ts';
import { rest } from '../run/rest.ts';
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
  const turn = rest(run);
  if (turn) await turn;
  const event = await run.modify(
    'post-acting',
    { toolUse, result },
    controlOf(asked, 'post-acting'),
  );
  await run.append([run.message('tool', [{ ...event.result, toolUseId: toolUse.id }])]);
  await run.push([event]);
}

/**
 * Gives an error result to each call that the reply makes beyond `limits.replyCalls`. All results
 * enter the log in one write. A call that waits for somebody came before the limit.
 */
export async function refuseCalls(run: Run, decided: ReadonlySet<string>): Promise<void> {
  const { options, status } = run.setup;
  const { replyCalls = usualCalls } = options.limits ?? {};
  const reply = run.view.findLast(({ role }) => role === 'assistant');
  if (!reply || reply.content.length <= replyCalls) return;
  const late = new Set(
    toolUsesOf(reply)
      .slice(replyCalls)
      .map(({ id }) => id),
  );
  const output = `Error: A reply may have ${replyCalls} tool calls. Make this call again later.`;
  const results: Msg[] = [];
  const events: AgentEvent[] = [];
  for (const toolUse of run.openCalls()) {
    const { id } = toolUse;
    if (!late.has(id) || decided.has(id) || status.calls.get(id)?.pending) continue;
    const turn = rest(run);
    if (turn) await turn;
    const result = toolResult(toolUse, output, 'error');
    const event = await run.modify('post-acting', { toolUse, result });
    results.push(run.message('tool', [{ ...event.result, toolUseId: id }]));
    events.push(event);
  }
  run.toolCalls += results.length;
  await run.append(results);
  if (events.length) await run.push(events);
}

const usualCalls = 128;

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
  run.conversation.sort();
}

function said(words: Words, toolUse: ToolUse, started: boolean): string {
  try {
    return words(toolUse, { started });
  } catch (cause) {
    const message = `closeOpenCall failed: ${messageOf(cause)}`;
    throw new AgentError('HOOK_ERROR', message, { cause });
  }
}
