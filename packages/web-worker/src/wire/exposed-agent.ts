import type { OutputMode } from '@isoloop/core/output';

/** Output modes that a page's calls may choose, by name. */
export type Outputs = Readonly<Record<string, OutputMode>>;

/**
 * Type of the agents a worker exposes, for its pages: `connectAgent<typeof assistant>`, with an
 * `import type`. `O` is the type of the factory's options and `T` that of its outputs. `N` is the
 * union of the agents' names; `never` means a single agent without a name.
 */
export interface ExposedAgent<O = unknown, N extends string = string, T extends Outputs = Outputs> {
  /** Carries the types only; never set. */
  readonly of?: () => { readonly options: O; readonly name: N; readonly outputs: T };
}

type TypesOf<E extends ExposedAgent> = ReturnType<NonNullable<E['of']>>;

/** Types of the output values by name, before they are cloned. Cloning loses classes. */
export type OutputsOf<E extends ExposedAgent> = {
  readonly [K in keyof TypesOf<E>['outputs']]: TypesOf<E>['outputs'][K] extends OutputMode<infer V>
    ? V
    : never;
};

/** `connectAgent`'s `agent`; required if the agents have names. */
export type NamedAgent<N extends string> = [N] extends [never]
  ? { readonly agent?: undefined }
  : string extends N
    ? { readonly agent?: N | undefined }
    : { readonly agent: N };

/** `connectAgent`'s `options`; optional if the factory accepts `null`. */
export type GivenOptions<O> = null extends O ? { readonly options?: O } : { readonly options: O };

/** `connectAgent`'s options for the agents a worker exposes. */
export type OptionsOf<E extends ExposedAgent> = NamedAgent<TypesOf<E>['name']> &
  GivenOptions<TypesOf<E>['options']>;
