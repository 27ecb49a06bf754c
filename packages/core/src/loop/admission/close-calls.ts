import { AgentError, messageOf } from '../../error/agent-error.ts';
import type { EventOf } from '../../event/agent-event.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { interruptedResult, mayHaveStarted, toolResult } from '../../tool/tool-result.ts';
import { controlOf, type Jump } from '../jump.ts';
import type { EventFields } from '../loop-steps.ts';
import { failCall } from './fail-call.ts';
import type { Middleware } from '../use/middleware.ts';
import { rest } from '../run/rest.ts';
import type { Run } from '../run/run.ts';

/**
 * Ends a tool call: runs the `post-acting` hooks on its result and appends the result to the log.
 */
export async function conclude(
  run: Run,
  toolUse: ToolUse,
  result: ToolResult,
  { asked = [], later = false }: { readonly asked?: Jump[]; readonly later?: boolean } = {},
): Promise<void> {
  const turn = rest(run);
  if (turn) await turn;
  const event = await review(run, { toolUse, result }, asked);
  const message = run.message('tool', [{ ...event.result, toolUseId: toolUse.id }]);
  try {
    await run.append([message], { later });
  } catch (error) {
    // The memory may have kept the result.
    if (!run.waits.isAbort(error))
      run.view = await run.waits.read(run.setup.memory.read()).catch(() => run.view);
    throw error;
  }
  await run.push([event]);
}

/**
 * Passes a result through the `post-acting` hooks. If they fail, the agent call fails, and the
 * result becomes an error, because a hook might have removed something from it. The hooks then only
 * observe the error.
 */
async function review(
  run: Run,
  fields: EventFields<'post-acting'>,
  asked: Jump[],
): Promise<EventOf<'post-acting'>> {
  try {
    return await run.modify('post-acting', fields, controlOf(asked, 'post-acting'));
  } catch (error) {
    if (!run.failure && run.waits.isAbort(error)) throw error;
    const { toolUse, result: given } = fields;
    const failed = failCall(run, toolUse, error, 'A hook failed after this call ended.');
    const result = given.state === 'interrupted' ? given : failed;
    const event = run.event('post-acting', { toolUse, result });
    await run.hooks.notify(event).catch(() => {});
    return event;
  }
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
  const late = new Set(toolUsesOf(reply).slice(replyCalls));
  const refused = run
    .openCalls()
    .filter(
      (call) => late.has(call) && !decided.has(call.id) && !status.calls.get(call.id)?.pending,
    );
  const output = `Error: A reply may have ${replyCalls} tool calls. Make this call again later.`;
  run.toolCalls += refused.length;
  for (const toolUse of refused)
    await conclude(run, toolUse, toolResult(toolUse, output, 'error'), {
      later: toolUse !== refused.at(-1),
    });
}

const usualCalls = 128;

/**
 * Gives each open tool call an `interrupted` result. Then sorts the conversation as models require:
 * each result follows its tool call. If the agent call fails, pending tool calls stay pending,
 * except after a timeout, which also ends the wait for a decision. Rejects with the first failure,
 * after it has tried to close all tool calls. `closer`: middleware that gives the texts of the
 * results.
 */
export async function closeCalls(run: Run, closer?: Middleware): Promise<void> {
  const { calls } = run.setup.status;
  const keepsPending = run.failure && run.failure.code !== 'CALL_TIMEOUT';
  let failure: unknown;
  for (const toolUse of run.openCalls()) {
    const state = calls.get(toolUse.id);
    if (keepsPending && state?.pending) continue;
    const result = interruptedResult(toolUse, state);
    const output = closer ? wordsOf(closer, toolUse, mayHaveStarted(state)) : result.output;
    await conclude(run, toolUse, { ...result, output }).catch((error: unknown) => {
      failure ??= error;
    });
  }
  run.conversation.sort();
  failure = run.failure ?? failure;
  if (failure) throw failure;
}

function wordsOf(closer: Middleware, toolUse: ToolUse, started: boolean): string {
  try {
    return closer.closeOpenCall!(toolUse, { started });
  } catch (cause) {
    const message = `closeOpenCall failed: ${messageOf(cause)}`;
    throw new AgentError('HOOK_ERROR', message, { cause });
  }
}
