import type { JsonValue } from '../message/json/json.ts';
import type { Tool } from './tool.ts';
import type { ToolSet } from './set/tool-set.ts';

/** Tool with the types of its calls. `tool()` returns it. */
export interface TypedTool<
  Name extends string = string,
  Input = unknown,
  Output = unknown,
  Data = unknown,
> extends Tool {
  readonly name: Name;
  /** Type marker, never set. */
  readonly of?: () => { readonly input: Input; readonly output: Output; readonly data: Data };
}

/** What an agent accepts as its tools. */
export type GivenTools = readonly Tool[] | ToolSet;

/** Type of the tools in an array or a tool set. */
export type ToolsOf<G extends GivenTools> = G extends readonly (infer T extends Tool)[]
  ? T
  : G extends ToolSet<infer T>
    ? T
    : never;

/** Data part with one of the declared names: AI SDK's `data-NAME` part. */
type DeclaredPart<Data> = {
  readonly [Name in keyof Data & string]: {
    readonly type: `data-${Name}`;
    readonly data: Data[Name];
    readonly id?: string;
    readonly transient?: boolean;
  };
}[keyof Data & string];

/** What a tool may emit. If it declares its data parts, an object has to be one of them. */
export type Progress<Data> = unknown extends Data
  ? JsonValue
  : DeclaredPart<Data> | string | number | boolean | null | readonly JsonValue[];

/** Arguments that the model writes: all except those with a preset. */
export type InputWithout<Input, Preset> = unknown extends Input
  ? Input
  : Input extends unknown
    ? { readonly [K in keyof Input as Exclude<K, keyof Preset>]: Input[K] }
    : never;
