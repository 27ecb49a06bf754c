import { AgentError } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { closeCalls } from './close-calls.ts';
import type { Step } from './move.ts';
import type { Run } from './run.ts';

/** Takes the input in and brings the log into a state the model can be asked about: every tool call has its result. */
export async function* settle(run: Run, input: readonly Msg[]): Step {
  const stored = await run.setup.memory.read();
  run.show(stored);
  await closeCalls(run);
  const event = await run.modify('pre-call', { input });
  yield [event];
  await run.append(event.input);
  run.promptId = event.input.findLast((message) => message.role === 'user')?.id;
  const last = run.view.at(-1);
  if (!last || (!event.input.length && last.role === 'assistant')) {
    throw new AgentError('INVALID_INPUT', 'There is nothing to answer: the call needs an input.');
  }
  return { to: 'reason' };
}
