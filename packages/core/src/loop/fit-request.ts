import type { FittedContext } from './context-policy.ts';
import type { EventBatch } from '../event/agent-event.ts';
import type { Msg } from '../message/msg.ts';
import type { Run } from './run.ts';

/**
 * The messages of the next request, made to fit the model's window by the agent's policy, where it
 * has one.
 */
export async function* fitRequest(run: Run): AsyncGenerator<EventBatch, readonly Msg[]> {
  const { promptId, setup } = run;
  const all = run.request();
  const { context } = setup.options;
  if (!context) return all;
  const head = all.length - run.view.length;
  // `setup` has the model and the session's id.
  const { messages, usage, removed, before, after }: FittedContext = Object(
    await context({
      ...setup,
      messages: all,
      head,
      tools: run.schemas(),
      promptId,
      run: run.about,
      beside: run.output?.beside,
      signal: run.modelSignal(),
    }),
  );
  run.addUsage(usage);
  if (removed || before !== after)
    yield await run.notify('context-fitted', { removed, before, after });
  return messages;
}
