import { AgentError } from '@isoloop/core';
import type { AgentResult, EventBatch } from '@isoloop/core';
import { createOpenAiEncoder, toChatCompletion, toOpenAiError } from '@isoloop/core/openai';
import type { OpenAiEncoderOptions } from '@isoloop/core/openai';

/**
 * Returns the response with an answer that is not streamed. Throws `PENDING_TOOL_CALLS` if the run
 * waits for a decision that a client of this API cannot give.
 */
export function wholeCompletion(
  result: AgentResult,
  completion: OpenAiEncoderOptions,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const waits = waitsHere(result);
  if (waits) throw waits;
  return Response.json(toChatCompletion(result, completion), {
    headers: { 'cache-control': 'no-store', ...headers },
  });
}

/**
 * Creates an encoder for the chunks of a streamed answer. If the run waits for a decision that a
 * client of this API cannot give, the stream ends with an error.
 */
export function completionEncoder(
  completion: OpenAiEncoderOptions,
): (batch: EventBatch) => readonly object[] {
  const encoder = createOpenAiEncoder(completion);
  return (batch) => {
    const chunks = encoder.encode(batch);
    const waits = batch
      .map(
        (event) =>
          event.type === 'run-end' && event.agentPath.length < 2 && waitsHere(event.result),
      )
      .find(Boolean);
    return waits
      ? [
          ...chunks.filter(
            (chunk) => 'choices' in chunk && chunk.choices[0]?.finish_reason === null,
          ),
          toOpenAiError(waits),
        ]
      : chunks;
  };
}

/**
 * Returns an error if the run waits only for decisions that a client of this API cannot give, such
 * as approvals.
 */
function waitsHere({ pending }: AgentResult): AgentError | undefined {
  if (!pending.length || pending.some(({ kind }) => kind === 'external')) return undefined;
  const names = [...new Set(pending.map(({ name }) => name))].join(', ');
  return new AgentError(
    'PENDING_TOOL_CALLS',
    `The agent waits for a decision that cannot be given here, about: ${names}.`,
  );
}
