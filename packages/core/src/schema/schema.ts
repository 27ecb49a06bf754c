import type { JsonObject } from '../message/json.ts';

export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  /** `issues`: one line each, with the path where known; written for the model to read. */
  | { readonly ok: false; readonly issues: readonly string[] };

/**
 * What the toolkit needs of a schema library: the JSON Schema for the model, and a check of what
 * comes back.
 */
export interface Schema<T> {
  readonly jsonSchema: JsonObject;
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}
