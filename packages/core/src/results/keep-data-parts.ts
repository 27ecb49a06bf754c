import type { Middleware } from '../agent/middleware.ts';
import {
  dataPartKey,
  isDataPart,
  withDataParts,
  type DataPart,
} from '../message/provider-metadata.ts';
import { jsonForm, type JsonValue } from '../message/json.ts';
import { withExecute, hasResult } from '../tool/tool-call.ts';

/**
 * Stores the data parts that tools emit with the results of their calls, so that `toUiMessages`
 * shows them after a reload. A part without an id gets one. Transient parts are not stored. The
 * parts that a call emits before it suspends are not stored either, because it has no result yet.
 */
export function keepDataParts(): Middleware {
  return {
    name: 'keepDataParts',
    wrapTool: async (call, next) => {
      let parts = new Map<string, DataPart>();
      const keeping = withExecute(call, (execute, input, context) => {
        // The parts of a new try replace those of the failed one.
        parts = new Map();
        const emit = (progress: JsonValue): void => {
          if (!isDataPart(progress) || progress.transient) return context.emit(progress);
          const part = { ...progress, id: progress.id ?? `${call.toolUse.id}:${parts.size}` };
          context.emit(part);
          // A copy, because the tool may change the value later.
          parts.set(dataPartKey(part), jsonForm(part, 'A data part') as DataPart);
        };
        return execute(input, { ...context, emit });
      });
      const outcome = await next(keeping);
      return hasResult(outcome) ? withDataParts(outcome, [...parts.values()]) : outcome;
    },
  };
}
