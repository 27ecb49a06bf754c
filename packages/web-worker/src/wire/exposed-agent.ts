import type { OutputMode } from '@isoloop/core/output';

/** What calls of a page may end with, by name. */
export type Outputs = Readonly<Record<string, OutputMode>>;

/**
 * What a worker exposes, for the types of its pages: `connectAgent<typeof assistant>`, with an
 * `import type`. `O` are the options of its factory, `N` the names of its agents (none: there is
 * one, without a name), `T` its outputs.
 */
export interface ExposedAgent<O = unknown, N extends string = string, T extends Outputs = Outputs> {
  /** Carries the types; never there. */
  readonly of?: () => { readonly options: O; readonly name: N; readonly outputs: T };
}

type TypesOf<E extends ExposedAgent> = ReturnType<NonNullable<E['of']>>;

/** The values of the outputs, by name, as they are before they are cloned: a class is not kept. */
export type OutputsOf<E extends ExposedAgent> = {
  readonly [K in keyof TypesOf<E>['outputs']]: TypesOf<E>['outputs'][K] extends OutputMode<infer V>
    ? V
    : never;
};

/** `connectAgent`'s `agent`: needed where the agents have names. */
export type NamedAgent<N extends string> = [N] extends [never]
  ? { readonly agent?: undefined }
  : string extends N
    ? { readonly agent?: N | undefined }
    : { readonly agent: N };

/** `connectAgent`'s `options`, which may be left out where the factory takes `null`. */
export type GivenOptions<O> = null extends O ? { readonly options?: O } : { readonly options: O };

/** `connectAgent`'s options for what a worker exposes. */
export type OptionsOf<E extends ExposedAgent> = NamedAgent<TypesOf<E>['name']> &
  GivenOptions<TypesOf<E>['options']>;
