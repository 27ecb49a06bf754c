import { stepsStart } from './steps-start.ts';
import { checkNoOptions } from '@isoloop/core/options';
import { currentTurn, pairedForModel } from '@isoloop/core/message';
import {
  toolUsesOf,
  type Msg,
  type AgentResult,
  type Middleware,
  type RunView,
} from '@isoloop/core';

/**
 * Adds the steps of the agent call to its result as `reactMemory` (OxyGent: `extra.react_memory`).
 * The steps are the messages between the question and the answer. Tool results are in the order of
 * their tool calls. An agent call that was resumed includes the steps before the resume. Readers
 * also get the steps in `run-end`, but hooks do not.
 */
export function reactMemory(): Middleware;
export function reactMemory(...args: readonly unknown[]): Middleware {
  checkNoOptions('reactMemory()', args);
  return {
    name: 'reactMemory',
    mapEvent(event, run) {
      if (event.type !== 'run-end') return event;
      const { result } = event;
      return { ...event, result: { ...result, reactMemory: stepMessages(result, run) } };
    },
  };
}

function stepMessages({ message }: AgentResult, run: RunView): readonly Msg[] {
  // The agent call ended before its input was stored.
  if (run.questionId === undefined) return [];
  const turn = currentTurn(run.messages, run.questionId);
  const steps = turn.slice(stepsStart(turn));
  return pairedForModel(steps.filter((step) => step.id !== message.id || toolUsesOf(step).length));
}
