import type { ClientSetting } from './model-settings.ts';
import type { SchemaFactory } from './response-format.ts';

/** What clients of `/v1` may ask for, and what they see. */
export interface OpenAiRoutesOptions {
  /**
   * Model settings that a client may choose for each reply of the run. Of the others,
   * `temperature`, `topP` and `seed` are ignored. `maxTokens` and `stop` get 400 `INVALID_INPUT`,
   * because the client's program may rely on them. Default: `['maxTokens', 'temperature']`.
   */
  readonly clientSettings?: readonly ClientSetting[];
  /**
   * Whether a field that would be ignored gets 400 `INVALID_INPUT` instead, such as `seed`, `top_k`
   * and unknown fields. By default, the header `x-isoloop-ignored` of the answer names the ignored
   * fields, and the log names each field once. Default: false.
   */
  readonly strict?: boolean;
  /**
   * Whether clients see the model's thinking, in streams and in whole answers. Chat completions
   * have it as `reasoning_content`, responses as summaries in `reasoning` items. Default: true.
   */
  readonly thinking?: boolean;
  /**
   * Function that validates answers against the JSON Schema that a client sends: pass `jsonSchema`
   * of `@isoloop/core/schema`. Default: checks only that the answer is JSON.
   */
  readonly jsonSchema?: SchemaFactory;
}

/** The options, completed with their defaults. */
export type OpenAiSettings = Required<Omit<OpenAiRoutesOptions, 'jsonSchema'>> &
  Pick<OpenAiRoutesOptions, 'jsonSchema'> & {
    /** Names of ignored fields that are in the log. */
    readonly loggedFields: Set<string>;
  };
