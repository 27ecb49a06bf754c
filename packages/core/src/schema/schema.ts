import type { JsonObject } from '../message/json/json.ts';

/** Keys from the whole value to one place in it. */
export type Path = readonly string[];

/** Result of a check by a schema: the value, or the reasons why it does not fit. */
export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  /**
   * `issues` are lines for the model. A line begins with the path of the value if the path is
   * known. `paths` are these paths.
   */
  | { readonly ok: false; readonly issues: readonly string[]; readonly paths?: readonly Path[] };

/**
 * Common interface of all schemas: the JSON Schema that the model gets, and a function that checks
 * a value.
 */
export interface Schema<T> {
  readonly jsonSchema: JsonObject;
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}
