import { stepsStart } from '../context/turns.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { forModel } from '../message/tool-pairs.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { currentTurn } from '../context/current-turn.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import type { RunContext } from '../loop/run/run-context.ts';

/**
 * Adds the steps of the call to its result as `reactMemory` (OxyGent: `extra.react_memory`). These
 * are the messages between question and answer, as in the log, with results in the order of their
 * calls. A resumed call includes the steps before it. Readers also get them in `run-end`; hooks do
 * not.
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
  // The call ended before its input was stored.
  if (promptId === undefined) return [];
  const turn = currentTurn(messages, promptId);
  const steps = turn.slice(stepsStart(turn));
  return forModel(steps.filter((step) => step.id !== message.id || toolUsesOf(step).length));
}
