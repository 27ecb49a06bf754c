import { currentTurn, stepsStart } from '../message/turns.ts';
import { toolUseIn, toolUsesOf, type Msg } from '../message/msg.ts';
import { pairedForModel } from '../message/tool-pairs.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import {
  friendlyText,
  defaultErrorText,
  type AgentResult,
  type FriendlyText,
} from '../event/agent-result.ts';
import type { Middleware, RunContext } from '../agent/middleware.ts';
import { checkFields } from '../error/agent-error.ts';

/**
 * Adds the steps of the agent call to its result as `reactMemory` (OxyGent: `extra.react_memory`).
 * The steps are the messages between the question and the answer. Tool results are in the order of
 * their tool calls. An agent call that was resumed includes the steps before the resume. Readers
 * also get the steps in `run-end`, but hooks do not.
 */
export function reactMemory(): Middleware {
  return {
    name: 'reactMemory',
    mapEvent(event, context) {
      if (event.type !== 'run-end') return event;
      const { result } = event;
      return { ...event, result: { ...result, reactMemory: stepMessages(result, context) } };
    },
  };
}

function stepMessages({ message }: AgentResult, run: RunContext): readonly Msg[] {
  // The agent call ended before its input was stored.
  if (run.questionId === undefined) return [];
  const turn = currentTurn(run.messages, run.questionId);
  const steps = turn.slice(stepsStart(turn));
  return pairedForModel(steps.filter((step) => step.id !== message.id || toolUsesOf(step).length));
}

/**
 * Adds a `parallelId` to the events of tool calls. Tool calls of the same reply have the same id
 * (OxyGent: `parallel_id`). It is the id of the assistant message with the tool calls. It is
 * therefore also in the session log and stays the same after a resume. Readers get the id, but
 * hooks do not.
 */
export function parallelIds(): Middleware {
  return { name: 'parallelIds', mapEvent: withId };
}

function withId(event: AgentEvent, { messages }: RunContext): AgentEvent {
  if (event.type !== 'pre-acting' && event.type !== 'acting-chunk' && event.type !== 'post-acting')
    return event;
  const toolUseId = event.type === 'acting-chunk' ? event.toolUseId : event.toolUse.id;
  const asking = messages.findLast((message) => toolUseIn(message, toolUseId));
  return asking ? { ...event, parallelId: asking.id } : event;
}

/**
 * Sets the `text` of a failed agent call's result to a text for the user (OxyGent:
 * `friendly_error_text`). The text is in the result with `throwOnError: false`, and in the event
 * `run-end`. `reason` and `error` do not change, and nothing is stored. An agent call that throws
 * still throws. `text` may be `userErrorText`. If the model has already written text, that text
 * stays. Throws `CONFIGURATION` if `text` is neither a string nor a function.
 */
export function friendlyErrors(text: FriendlyText = defaultErrorText): Middleware {
  checkFields('friendlyErrors()', { text }, 'text:string|function');
  const withText = (result: AgentResult): AgentResult => {
    const { reason, error } = result;
    if (reason !== 'error' || !error || result.text) return result;
    const userText = friendlyText(error, text);
    const content = [{ type: 'text', text: userText }] as const;
    return { ...result, text: userText, message: { ...result.message, content } };
  };
  return {
    name: 'friendlyErrors',
    mapEvent: (event) =>
      event.type === 'run-end' ? { ...event, result: withText(event.result) } : event,
  };
}
