import type { Middleware } from '../agent/middleware.ts';

/** Sets the time limit, in milliseconds, of tools without a time limit of their own. */
export function defaultToolTimeout(timeoutMs: number): Middleware {
  return {
    name: 'defaultToolTimeout',
    wrapTool: (call, next) => {
      const { tool } = call;
      if (tool.timeoutMs !== undefined) return next(call);
      return next({ ...call, tool: { ...tool, timeoutMs } });
    },
  };
}
