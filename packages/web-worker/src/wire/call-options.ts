import { AgentError } from '@isoloop/core';
import type { CallOptions } from '@isoloop/core';
import type { Outputs } from './exposed-agent.ts';
import type { SentOptions } from './protocol.ts';

/**
 * Converts options from a page to options of the agent. Throws `INVALID_INPUT` if the worker has no
 * output with the given name.
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
