import type { FittedContext } from '../context/context-policy.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { closeCalls } from './close-calls.ts';
import { interrupted, recover } from './interruption.ts';
import { summarize } from './limit.ts';
import type { Step } from './move.ts';
import { readReply } from './read-reply.ts';
import type { Run } from './run.ts';

const defaultIterations = 10;

/** Asks the model once; its reply is an answer, tool calls, or cut by an interrupt or abort. */
export async function* reason(run: Run): Step {
  const { options, toolkit, generate } = run.setup;
  if (interrupted(run)) return yield* recover(run);
  if (run.iteration >= (options.limits?.iterations ?? defaultIterations)) return yield* atLimit(run);
  run.iteration += 1;

  const fitted = await fit(run);
  if (fitted.removed) yield await run.notify('context-fitted', { removed: fitted.removed, before: fitted.before, after: fitted.after });
  const tools = options.model.features.tools ? toolkit.schemas() : [];
  const before = await run.modify('pre-reasoning', { messages: fitted.messages, tools, options: generate });
  yield [before];
  const request: ModelRequest = { ...before.options, messages: before.messages, tools: before.tools };
  const reply = yield* readReply(run, request, 'reasoning');
  if (reply.type === 'cut') return yield* recover(run, reply.message);
  return yield* afterReasoning(run, reply.message);
}

async function* afterReasoning(run: Run, reply: Msg): Step {
  const asked: { stop: boolean; reasonAgain?: readonly Msg[] } = { stop: false };
  const after = await run.modify(
    'post-reasoning',
    { message: reply },
    {
      stop: () => void (asked.stop = true),
      gotoReasoning: (messages) => void (asked.reasonAgain = messages),
    },
  );
  const { message } = after;
  if (message !== reply) yield await run.notify('step-reset', { reason: 'post-reasoning', replacement: message });
  yield [after];
  const toolUses = toolUsesOf(message);
  if (asked.stop) return { to: 'finish', reason: 'stopped-by-hook', message, persist: true };
  if (!toolUses.length && !asked.reasonAgain) return { to: 'finish', reason: 'stop', message, persist: true };
  await run.append([message]);
  if (!asked.reasonAgain) return { to: 'act', toolUses };
  await run.append(asked.reasonAgain);
  await closeCalls(run);
  return { to: 'reason' };
}

async function* atLimit(run: Run): Step {
  const reply = yield* (run.setup.options.onLimit ?? summarize())(run);
  if (reply.type === 'cut') return yield* recover(run, reply.message);
  return { to: 'finish', reason: 'max-iterations', message: reply.message, persist: true };
}

async function fit(run: Run): Promise<FittedContext> {
  const { options, toolkit } = run.setup;
  const messages = run.request();
  if (!options.context) return { messages, removed: 0, before: 0, after: 0 };
  return options.context({ messages, tools: toolkit.schemas(), ...(run.promptId === undefined ? {} : { promptId: run.promptId }) });
}
