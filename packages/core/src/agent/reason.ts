import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { closeCalls } from './close-calls.ts';
import { fitRequest } from './fit-request.ts';
import { recover } from './interruption.ts';
import { summarize } from './limit.ts';
import type { Step } from './move.ts';
import { readReply } from './read-reply.ts';
import type { Run } from './run.ts';

const defaultIterations = 10;

/** Asks the model once; its reply is an answer, tool calls, or cut by an interrupt or abort. */
export async function* reason(run: Run): Step {
  const { options, toolkit, generate } = run.setup;
  if (run.cut) return yield* recover(run);
  if (run.iteration >= (options.limits?.iterations ?? defaultIterations)) return yield* atLimit(run);
  run.iteration += 1;

  const messages = yield* fitRequest(run);
  const tools = options.model.features.tools ? toolkit.schemas() : [];
  const before = await run.modify('pre-reasoning', { messages, tools, options: generate });
  yield [before];
  const reply = yield* readReply(run, { ...before.options, messages: before.messages, tools: before.tools }, 'reasoning');
  if (reply.type === 'cut') return yield* recover(run, reply.message);
  return yield* afterReasoning(run, reply.message);
}

async function* afterReasoning(run: Run, reply: Msg): Step {
  const asked: { stop: boolean; reasonAgain?: readonly Msg[] } = { stop: false };
  const message = yield* run.revise('post-reasoning', reply, {
    stop: () => void (asked.stop = true),
    gotoReasoning: (messages) => void (asked.reasonAgain = messages),
  });
  const toolUses = toolUsesOf(message);
  if (asked.stop) return { to: 'finish', reason: 'stopped-by-hook', message };
  if (!toolUses.length && !asked.reasonAgain) return { to: 'finish', reason: 'stop', message };
  await run.append([message]);
  if (!asked.reasonAgain) return { to: 'act', toolUses };
  await run.append(asked.reasonAgain);
  await closeCalls(run);
  return { to: 'reason' };
}

async function* atLimit(run: Run): Step {
  const reply = yield* (run.setup.options.onLimit ?? summarize())(run);
  if (reply.type === 'cut') return yield* recover(run, reply.message);
  return { to: 'finish', reason: 'max-iterations', message: reply.message };
}
