import type { Extension } from '../../loop/extension.ts';

/** A time-out for tools that set none. */
export function defaultToolTimeout(timeoutMs: number): Extension {
  return {
    wrapTool: (next) => (call, options) => {
      const { tool } = call;
      return next(
        tool.timeoutMs === undefined ? { ...call, tool: { ...tool, timeoutMs } } : call,
        options,
      );
    },
  };
}
