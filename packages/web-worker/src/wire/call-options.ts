import { AgentError } from '@isoloop/core';
import type { CallOptions } from '@isoloop/core';
import type { Outputs } from './exposed-agent.ts';
import type { SentOptions } from './protocol.ts';

/**
 * A call's options as the agent takes them. Throws `INVALID_INPUT` for an output that the worker
 * has not.
 */
export function callOptions(
  { output, ...given }: SentOptions,
  { signal }: AbortController,
  outputs: Outputs,
): CallOptions {
  if (output === undefined) return { ...given, signal };
  if (Object.hasOwn(outputs, output)) return { ...given, signal, output: outputs[output]! };
  const names = Object.keys(outputs).join(', ') || 'none';
  throw new AgentError(
    'INVALID_INPUT',
    `The worker has no output ${JSON.stringify(output)}; exposeAgent() was given ${names}.`,
  );
}
