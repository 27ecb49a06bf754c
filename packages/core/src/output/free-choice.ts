import type { Middleware } from '../agent/middleware.ts';
import { AgentError } from '../error/agent-error.ts';
import type { ModelDelta, ModelRequest, ReplyStream } from '../model/chat-model.ts';
import { finishMeaning } from '../model/finish-reason.ts';
import { withStream } from '../model/wrap-model.ts';
import { outputToolName } from '../schema/output-format.ts';

/**
 * Repeats a request without its forced call of the output tool if the server refuses to force one.
 * If the server answers with text all the same, the text is the reply.
 * [LM Studio](https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670) always does,
 * [DeepSeek](https://github.com/deepseek-ai/DeepSeek-V3/issues/1376) and
 * [Qwen](https://github.com/cloudwego/eino/issues/994) do while the model thinks.
 */
export const freeChoice: Middleware = {
  name: 'freeChoice',
  wrapModel: (next) =>
    withStream(next, async function* (request, context) {
      const reply = next.stream(request, context);
      // LiteLLM asks Claude for JSON as a tool call:
      // https://github.com/BerriAI/litellm/issues/10103
      if (request.responseSchema) return yield* withoutClaim(reply);
      if (!isForced(request)) return yield* reply;
      try {
        yield* withoutClaim(reply);
      } catch (error) {
        if (!isAboutChoice(error)) throw error;
        const { toolChoice: _toolChoice, ...others } = request;
        yield* next.stream(others, context);
      }
    }),
};

function isForced({ toolChoice }: ModelRequest): boolean {
  return typeof toolChoice === 'object' && toolChoice.name === outputToolName;
}

/**
 * Ends a reply of text with `stop` if it claims to end with tool calls. The claim would be an
 * error. [vLLM](https://github.com/vllm-project/vllm/issues/53255) does this for a forced call,
 * LiteLLM for a schema.
 */
async function* withoutClaim(reply: AsyncIterable<readonly ModelDelta[]>): ReplyStream {
  let hasCall = false;
  for await (const deltas of reply) {
    const last = deltas.at(-1);
    hasCall ||= deltas.some(({ type }) => type === 'tool-input');
    const isClaim = !hasCall && last?.type === 'finish' && finishMeaning(last.reason) === 'calls';
    yield isClaim ? [...deltas.slice(0, -1), { ...last, reason: 'stop' }] : deltas;
    if (isClaim) return;
  }
}

/** Servers refuse a request before the reply begins, so no delta is repeated. */
function isAboutChoice(error: unknown): boolean {
  return (
    AgentError.is(error) && error.code === 'MODEL_REQUEST' && /tool.?choice/i.test(error.message)
  );
}
