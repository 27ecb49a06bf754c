import type { Middleware } from '../../loop/use/middleware.ts';

/** A time-out for tools that set none. */
export function defaultToolTimeout(timeoutMs: number): Middleware {
  return {
    name: 'defaultToolTimeout',
    wrapTool: (next) => (call, options) => {
      const { tool } = call;
      return next(
        tool.timeoutMs === undefined ? { ...call, tool: { ...tool, timeoutMs } } : call,
        options,
      );
    },
  };
}
