import type { Middleware } from '../../agent/middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import { withStream } from '../../model/wrap-model.ts';
import { outputToolName } from '../../schema/output-format.ts';

/**
 * Repeats a request without its forced call of the output tool if the server refuses to force one.
 * [LM Studio](https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670) always does,
 * [DeepSeek](https://github.com/deepseek-ai/DeepSeek-V3/issues/1376) and
 * [Qwen](https://github.com/cloudwego/eino/issues/994) do while the model thinks.
 */
export const freeChoice: Middleware = {
  name: 'freeChoice',
  wrapModel: (next) =>
    withStream(next, async function* (request, context) {
      try {
        yield* next.stream(request, context);
      } catch (error) {
        if (!isForced(request) || !isAboutChoice(error)) throw error;
        const { toolChoice: _toolChoice, ...others } = request;
        yield* next.stream(others, context);
      }
    }),
};

function isForced({ toolChoice }: ModelRequest): boolean {
  return typeof toolChoice === 'object' && toolChoice.name === outputToolName;
}

/** Servers refuse a request before the reply begins, so no delta is repeated. */
function isAboutChoice(error: unknown): boolean {
  return (
    AgentError.is(error) && error.code === 'MODEL_REQUEST' && /tool.?choice/i.test(error.message)
  );
}
