import { AgentError } from '@isoloop/core';
import type { CallOptions } from '@isoloop/core';
import type { Outputs } from './exposed-agent.ts';
import type { SentOptions } from './protocol.ts';

/**
 * Returns a call's options in the form the agent takes. Throws `INVALID_INPUT` if the worker has no
 * output of the given name.
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
    `The worker has no output ${JSON.stringify(output)}; exposeAgent() has ${names}.`,
  );
}
