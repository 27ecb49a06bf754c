import type { JsonObject } from '../message/json.ts';

export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  /** `issues`: one line each, with the path if it is known; the model reads them. */
  | { readonly ok: false; readonly issues: readonly string[] };

/**
 * Interface of a schema library for the toolkit: the JSON Schema for the model, and a check of its
 * arguments.
 */
export interface Schema<T> {
  readonly jsonSchema: JsonObject;
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}
