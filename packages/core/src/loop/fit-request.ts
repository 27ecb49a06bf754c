import type { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { addUsage, noUsage } from '../model/usage.ts';
import type { Msg } from '../message/msg.ts';
import type { ContextPolicy, ContextRequest, FittedContext } from './context-policy.ts';
import { shownResults } from './shown-results.ts';
import type { Run } from './run/run.ts';
import type { RunContext } from './run/run-context.ts';

/**
 * Returns the messages of the next model request, after the agent's context policies fitted them.
 */
export async function fitRequest(run: Run): Promise<readonly Msg[]> {
  const { promptId, setup } = run;
  const all = shownResults(run.request(), setup.options.limits);
  if (!setup.policies.length) return all;
  const request: ContextRequest = {
    messages: all,
    head: all.length - run.view.length,
    tools: run.schemas(),
    promptId,
    model: setup.model,
    sessionId: setup.sessionId,
    run: run.about,
    beside: run.output?.beside,
    signal: run.modelSignal(),
  };
  const { messages, usage, error, ...sizes } = await fitInTurn(setup.policies, request, {
    context: run.context,
    wait: (work) => run.waits.code(work),
  });
  run.addUsage(usage);
  const failed = error && { error: error.toJSON() };
  if (failed) run.warnings.push(failed.error);
  if (sizes.removed || sizes.before !== sizes.after || failed)
    await run.tell('context-fitted', { ...sizes, ...failed });
  return messages;
}

interface FitOptions {
  readonly context?: RunContext;
  /** Waits for a policy. Default: waits without a time limit. */
  readonly wait?: <T>(work: Promise<T>) => Promise<T>;
}

/**
 * Runs the policies in order, each on the result of the previous policy. The last policy with a
 * `count` supplies `before` and `after`. If no policy has a `count`, the first policy supplies
 * `before` and the last policy `after`. The last `error` of a policy counts.
 */
export async function fitInTurn(
  policies: readonly ContextPolicy[],
  request: ContextRequest,
  { context, wait = (work) => work }: FitOptions = {},
): Promise<FittedContext> {
  const counting = policies.findLast(({ count }) => count);
  let current = request;
  let first: FittedContext | undefined;
  let last: FittedContext | undefined;
  let counted: FittedContext | undefined;
  let removed = 0;
  let usage = noUsage;
  let error: AgentError | undefined;
  for (const policy of policies) {
    last = await wait(Promise.resolve(policy.fit(current, context)));
    checkFields('CONFIGURATION', 'The result of a context policy', last, resultFields);
    first ??= last;
    if (policy === counting) counted = last;
    removed += last.removed;
    error = last.error ?? error;
    usage = addUsage(usage, last.usage ?? noUsage);
    const { messages, head = current.head } = last;
    current = { ...current, messages, ...(head !== undefined && { head }) };
    if (last.done) break;
  }
  const { messages } = current;
  const before = counting?.count?.(request) ?? first?.before ?? 0;
  let after = before;
  if (counting && messages !== request.messages) {
    // A counter is fast if the list grows. It counts from the beginning if two lists alternate.
    after = counted?.messages === messages ? counted.after : counting.count!(current);
  } else if (!counting) {
    after = last?.after ?? 0;
  }
  return { messages, removed, before, after, usage, error };
}

const resultFields = 'messages:array removed:count before:count after:count';
