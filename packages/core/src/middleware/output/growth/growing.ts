import type { OutputMode } from '../value-mode.ts';
import { ObjectWriter } from './object-writer.ts';
import type { ObjectWriting } from './object-writer-of.ts';

/** Returns an output mode whose object an endpoint can send while it grows. */
export function growing(output: OutputMode): OutputMode {
  const part: ObjectWriting = { name: 'objectWriter', objectWriter: () => new ObjectWriter() };
  return [...output, part];
}
