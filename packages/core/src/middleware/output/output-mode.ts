import type { Middleware } from '../../agent/middleware.ts';

/**
 * A way to get a typed value from the model, such as `structured()`: the middleware that an agent
 * call gets with its option `output`.
 */
export type OutputMode<T = unknown> = readonly Middleware[] & {
  /** Carries only the type of the value. Never set. */
  readonly of?: () => T;
};

/** Makes the compiler say what to do with a schema that is used as an output mode. */
export interface NoSchema {
  readonly '~standard'?: 'Wrap the schema: structured(schema)';
}
