import type { Agent } from '../../../agent/agent.ts';
import type { Middleware } from '../../../agent/middleware.ts';
import { misconfigured } from '../../../error/agent-error.ts';
import type { ObjectWriter } from './object-writer.ts';

/** Middleware with which an endpoint can send the object of an output mode while it grows. */
export interface ObjectWriting extends Middleware {
  /** Creates a writer for the object of one run. */
  readonly objectWriter: () => ObjectWriter;
}

/** Returns a writer for the object of an agent. Throws `CONFIGURATION` without an output mode. */
export function objectWriterOf({ use }: Pick<Agent, 'use'>): ObjectWriter {
  for (const part of use) if ('objectWriter' in part) return (part as ObjectWriting).objectWriter();
  throw misconfigured('Add ...structured(schema) to `use`.');
}
