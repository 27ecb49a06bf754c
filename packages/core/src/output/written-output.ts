import type { Agent } from '../agent/agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import { misconfigured } from '../error/agent-error.ts';
import { ObjectWriter } from './object/object-writer.ts';
import { outputPart, type OutputMode } from './output-mode.ts';

/** The part `output` of an output mode whose object an endpoint can send while it grows. */
interface WrittenOutput extends Middleware {
  /** Creates a writer for the object of one run. */
  readonly objectWriter: () => ObjectWriter;
}

/** Returns an output mode whose object an endpoint can send while it grows. */
export function withObjectWriter(output: OutputMode): OutputMode {
  const objectWriter = (): ObjectWriter => new ObjectWriter();
  return output.map((part) => (part.name === outputPart ? { ...part, objectWriter } : part));
}

/** Returns a writer for the object of an agent. Throws `CONFIGURATION` without an output mode. */
export function objectWriterOf({ use }: Pick<Agent, 'use'>): ObjectWriter {
  const part = use.find(({ name }) => name === outputPart) as Partial<WrittenOutput> | undefined;
  if (part?.objectWriter) return part.objectWriter();
  throw misconfigured(
    'The agent has no output mode, so it has no object to send. Add ...structured(schema) to its `use` list.',
  );
}
