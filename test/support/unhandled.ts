import process from 'node:process';
import { setImmediate } from 'node:timers/promises';

/** Resolves in a later task. Node reports a rejection at the end of the task that leaves it. */
export const nextTask = (): Promise<void> => setImmediate();

/** Runs the code. Returns the messages of all errors that nobody has handled. Only for Node. */
export async function unhandledIn(code: () => Promise<unknown>): Promise<readonly string[]> {
  const messages: string[] = [];
  const note = (error: Error): void => void messages.push(error.message);
  process.on('unhandledRejection', note);
  try {
    await code();
    await nextTask();
    await nextTask();
  } finally {
    process.off('unhandledRejection', note);
  }
  return messages;
}
