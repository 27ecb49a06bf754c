import type { EventOf } from '../event/agent-event.ts';
import { fitRequest } from './fit-request.ts';
import type { controlOf } from './jump.ts';
import type { Run } from './run/run.ts';

/** Begins an iteration: fits the next model request and passes it through the hooks. */
export async function preReasoning(
  run: Run,
  control: ReturnType<typeof controlOf>,
): Promise<EventOf<'pre-reasoning'>> {
  run.iteration += 1;
  try {
    const messages = await fitRequest(run);
    const fields = { messages, tools: run.schemas(), options: run.generate };
    return await run.modify('pre-reasoning', fields, control);
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (run.waits.isAbort(thrown)) run.iteration -= 1;
    throw thrown;
  }
}
