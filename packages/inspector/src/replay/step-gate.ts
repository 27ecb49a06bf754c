import { AgentError } from '@isoloop/core';
import { onAbort } from '@isoloop/core/wait';

/** Where the parts of a replay wait until the reader goes on. */
interface StepGate {
  /** Waits for the reader. Rejects with `ABORTED` after the signal aborts. */
  pause(): Promise<void>;
  /** Lets the part go on that waits longest. */
  next(): void;
  /** Lets all parts go on, now and later. */
  open(): void;
}

/** `onChange`: called with whether something waits. */
export function stepGate(signal: AbortSignal, onChange: (waits: boolean) => void): StepGate {
  // Tool calls of one reply wait at the same time.
  const resolvers: (() => void)[] = [];
  let isOpen = false;
  const next = (): void => {
    resolvers.shift()?.();
    onChange(resolvers.length > 0);
  };
  return {
    async pause() {
      if (isOpen) return;
      await new Promise<void>((resolve, reject) => {
        resolvers.push(resolve);
        onChange(true);
        onAbort(signal, () => reject(new AgentError('ABORTED', 'Closed.')));
      });
    },
    next,
    open() {
      isOpen = true;
      while (resolvers.length) next();
    },
  };
}
