import type { Middleware, Msg } from '@isoloop/core';
import { markAsProgram } from '@isoloop/core/message';

/** Makes middleware that puts messages before the conversation, as a recall does. */
export function prepending(find: (input: readonly Msg[]) => Promise<readonly Msg[]>): Middleware {
  return {
    wrapSettle: async (input, next, run) => {
      const first = await next(input);
      const found = await find(input.messages);
      run.prompt.include(found.map(markAsProgram));
      return first;
    },
  };
}
