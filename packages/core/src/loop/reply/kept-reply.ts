import type { KeptReply } from '../../model/chat-model.ts';
import type { Run } from '../run/run.ts';

/** Returns the place in the log for the state of the reply to the conversation's last message. */
export function keptReply(run: Run): KeptReply | undefined {
  const { replies } = run.setup.memory;
  const after = run.view.at(-1)?.id;
  if (!replies || after === undefined) return undefined;
  let isOwn = false;
  return {
    async load() {
      // A later request of the step, such as a retry, must not continue the reply of an earlier one.
      const found = isOwn ? undefined : await run.waits.read(replies.get());
      return found?.state && { state: found.state, isCurrent: found.after === after };
    },
    save(state) {
      isOwn = true;
      return run.writes.wait(replies.set(after, state));
    },
    clear() {
      isOwn = true;
      return replies.set(after, undefined);
    },
  };
}
