import type { Awaitable, Middleware, Msg } from '@isoloop/core';

/** Returns a guard: `judge` returns the messages to store, or throws `GUARD_REJECTED`. */
export function guarding(judge: (input: readonly Msg[]) => Awaitable<readonly Msg[]>): Middleware {
  return {
    wrapInput: (next) => async (input, context) => {
      const messages = await judge(input.messages);
      return next({ ...input, messages }, context);
    },
  };
}
