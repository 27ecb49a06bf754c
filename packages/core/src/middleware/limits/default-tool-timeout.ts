import type { Middleware } from '../../agent/middleware.ts';

/** Sets the time limit, in milliseconds, of tools without a time limit of their own. */
export function defaultToolTimeout(timeoutMs: number): Middleware {
  return {
    name: 'defaultToolTimeout',
    wrapTool: (next) => (call) => {
      const { tool } = call;
      return next(tool.timeoutMs === undefined ? { ...call, tool: { ...tool, timeoutMs } } : call);
    },
  };
}
