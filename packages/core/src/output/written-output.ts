import type { Agent } from '../agent/agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import { misconfigured } from '../error/agent-error.ts';
import { ObjectWriter } from './object/object-writer.ts';
import { outputMiddleware, type OutputMode } from './output-mode.ts';

/** The middleware `output` of an output mode whose object an endpoint can send while it grows. */
interface WrittenOutput extends Middleware {
  /** Creates a writer for the object of one run. */
  readonly objectWriter: () => ObjectWriter;
}

/** Returns an output mode whose object an endpoint can send while it grows. */
export function withObjectWriter(output: OutputMode): OutputMode {
  const objectWriter = (): ObjectWriter => new ObjectWriter();
  return output.map((one) => (one.name === outputMiddleware ? { ...one, objectWriter } : one));
}

/** Returns a writer for the object of an agent. Throws `CONFIGURATION` without an output mode. */
export function objectWriterOf({ use }: Pick<Agent, 'use'>): ObjectWriter {
  const written = use.find(({ name }) => name === outputMiddleware) as
    | Partial<WrittenOutput>
    | undefined;
  if (written?.objectWriter) return written.objectWriter();
  throw misconfigured(
    'The agent has no output mode, so it has no object to send. Add ...structured(schema) to its `use` list.',
  );
}
