import type { AgentEvent, ReActAgent } from '@isoloop/core';
import { failureText, objectWriterOf } from '@isoloop/core/output';
import type { EncodeBatch } from '../settings/turn-format.ts';

/**
 * Creates an encoder whose client gets only the object of a structured answer. Throws
 * `CONFIGURATION` for an agent without an output mode. Without an agent, the answer could not
 * begin: the only event is an error.
 */
export function objectEncoder(agent: Pick<ReActAgent, 'use'> | undefined): EncodeBatch {
  const writer = agent && objectWriterOf(agent);
  return (batch) =>
    writer
      ? [writer.write(batch)]
      : (batch as readonly Failed[]).map(({ error }) => failureText(error));
}

type Failed = Extract<AgentEvent, { type: 'error' }>;
