import { stepsStart } from '../context/turns.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder } from '../message/tool-pairs.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { currentTurn } from '../context/current-turn.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import type { RunContext } from '../loop/run/run-context.ts';

/**
 * Puts the steps of the call on its result as `reactMemory`: what stands between question and
 * answer, as the log has it, results in the order of their calls (OxyGent: `extra.react_memory`). A
 * call that goes on has the steps before it as well. Readers have it in `run-end`, too; hooks
 * don't.
 */
export function reactMemory(): Middleware {
  return {
    name: 'reactMemory',
    mapEvent(event, context) {
      if (event.type !== 'run-end') return event;
      const { result } = event;
      return { ...event, result: { ...result, reactMemory: stepsOf(result, context) } };
    },
  };
}

function stepsOf({ message }: AgentResult, { promptId, messages }: RunContext): readonly Msg[] {
  // It ended before it was asked.
  if (promptId === undefined) return [];
  const turn = currentTurn(messages, promptId);
  const steps = turn.slice(stepsStart(turn));
  return inRequestOrder(steps.filter((step) => step.id !== message.id || toolUsesOf(step).length));
}
