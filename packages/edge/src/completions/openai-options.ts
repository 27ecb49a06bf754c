import type { ClientSetting } from './model-settings.ts';
import type { SchemaFactory } from './response-format.ts';

/** What clients of `/v1` may ask for, and what they see. */
export interface OpenAiRoutesOptions {
  /**
   * Model settings that a client may choose for each reply of the run. A request with any other
   * setting gets 400 `INVALID_INPUT`, unless the value changes nothing.
   * @default ['maxTokens', 'temperature']
   */
  readonly clientSettings?: readonly ClientSetting[];
  /**
   * Whether clients see the model's thinking, in streams and in whole answers. Chat completions
   * have it as `reasoning_content`, responses as summaries in `reasoning` items.
   * @default true
   */
  readonly thinking?: boolean;
  /**
   * Function that validates answers against the JSON Schema that a client sends: pass `jsonSchema`
   * of `@isoloop/core/json-schema`. Default: checks only that the answer is JSON.
   */
  readonly jsonSchema?: SchemaFactory;
}

/** The options, completed with their defaults. */
export type OpenAiSettings = Required<Omit<OpenAiRoutesOptions, 'jsonSchema'>> &
  Pick<OpenAiRoutesOptions, 'jsonSchema'>;
