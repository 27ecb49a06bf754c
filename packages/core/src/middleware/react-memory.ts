import { stepsStart } from '../context/turns.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder } from '../message/tool-pairs.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { currentTurn } from '../context/current-turn.ts';
import type { Extension } from '../loop/extension.ts';
import { mapEvents } from '../loop/map-events.ts';
import type { Run } from '../loop/run.ts';

/**
 * Puts the steps of the call on its result as `reactMemory`: what stands between question and
 * answer, as the log has it, results in the order of their calls (OxyGent: `extra.react_memory`). A
 * call that goes on has the steps before it as well. Readers have it in `run-end`, too; hooks
 * don't.
 */
export function reactMemory(): Extension {
  return { wrapCall: (next) => mapEvents(next, { result: withSteps }) };
}

async function withSteps(result: AgentResult, run: Run): Promise<AgentResult> {
  return { ...result, reactMemory: await stepsOf(result, run) };
}

async function stepsOf(
  { message }: AgentResult,
  { setup, promptId, view }: Run,
): Promise<readonly Msg[]> {
  // It ended before it was asked.
  if (promptId === undefined) return [];
  const turn = currentTurn(await setup.memory.read().catch(() => view), promptId);
  const steps = turn.slice(stepsStart(turn));
  return inRequestOrder(steps.filter((step) => step.id !== message.id || toolUsesOf(step).length));
}
