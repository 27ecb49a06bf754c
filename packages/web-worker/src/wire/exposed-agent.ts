import type { OutputMode } from '@isoloop/core/output';
import { AgentError, type CallOptions } from '@isoloop/core';
import type { SentOptions } from './protocol.ts';

/** Output modes by name. A page selects one for an agent call with the option `output`. */
export type Outputs = Readonly<Record<string, OutputMode>>;

/**
 * Type of the agents that a worker exposes. Pages import it with `import type` and use it as
 * `connectAgent<typeof assistant>`. `O` is the type of the factory's options. `N` is the union of
 * the agents' names, or `never` for a single agent without a name. `T` is the type of the outputs.
 * `A` is the type of the agents, from which pages get the types of the tools.
 */
export interface ExposedAgent<
  O = unknown,
  N extends string = string,
  T extends Outputs = Outputs,
  A = unknown,
> {
  /** Type marker, never set. */
  readonly '~types'?: () => {
    readonly options: O;
    readonly name: N;
    readonly outputs: T;
    readonly agent: A;
  };
}

type TypesOf<E extends ExposedAgent> = ReturnType<NonNullable<E['~types']>>;

/** Types of the output values by name. At runtime, cloning removes the classes of the values. */
export type OutputsOf<E extends ExposedAgent> = {
  readonly [K in keyof TypesOf<E>['outputs']]: TypesOf<E>['outputs'][K] extends OutputMode<infer V>
    ? V
    : never;
};

/** Option `agent` of `connectAgent`. Required if the agents have names. */
type NamedAgent<N extends string> = [N] extends [never]
  ? { readonly agent?: undefined }
  : string extends N
    ? { readonly agent?: N | undefined }
    : { readonly agent: N };

/** Option `options` of `connectAgent`. Optional if the factory accepts `null`. */
type FactoryOptions<O> = null extends O ? { readonly options?: O } : { readonly options: O };

/** Options of `connectAgent` whose types depend on the exposed agents. */
export type OptionsOf<E extends ExposedAgent> = NamedAgent<TypesOf<E>['name']> &
  FactoryOptions<TypesOf<E>['options']>;

/**
 * Converts options from a page to options of the agent. Throws `INVALID_INPUT` if the worker has no
 * output with the given name.
 */
export function callOptions(
  { output, ...options }: SentOptions,
  { signal }: AbortController,
  outputs: Outputs,
): CallOptions {
  if (output === undefined) return { ...options, signal };
  if (Object.hasOwn(outputs, output)) return { ...options, signal, output: outputs[output]! };
  const names = Object.keys(outputs).join(', ') || 'none';
  throw new AgentError(
    'INVALID_INPUT',
    `The worker has no output ${JSON.stringify(output)}; exposeAgent() has ${names}.`,
  );
}
