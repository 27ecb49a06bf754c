import type { ContentBlock } from '../message/msg.ts';
import type { JsonOf, JsonValue } from '../message/json.ts';
import type { Tool, ToolContent, TypedTool } from '../tool/tool.ts';

/** Progress of a tool call, in a `data-tool-progress` part with the id of the call. */
export interface ToolProgress {
  readonly toolCallId: string;
  readonly progress: JsonValue;
}

/**
 * Types of the tools of an agent by name, for AI SDK's `UIMessage`. `Source` is the type of an
 * agent, of a function that returns one, or of the result of `exposeAgent` or `createAgentHandler`.
 * Leaves out tools whose name the type does not have, such as tools of MCP servers. The input is
 * what the model wrote. The output is the JSON form of what the tool returned.
 *
 * @example
 * type Message = UIMessage<unknown, AgentData<typeof assistant>, AgentTools<typeof assistant>>;
 */
export type AgentTools<Source> = [NamedTool<ToolIn<Source>>] extends [never]
  ? Record<string, { input: unknown; output: unknown }>
  : {
      [T in NamedTool<ToolIn<Source>> as T['name']]: {
        input: TypesOf<T>['input'];
        output: UiOutput<TypesOf<T>['output']>;
      };
    };

/**
 * Types of the data parts of an agent's tools by name, for AI SDK's `UIMessage`. A tool declares
 * its data parts in the type of its context: `ToolContext<{ chart: Chart }>`.
 */
export type AgentData<Source> = [DeclaredName<DataIn<Source>>] extends [never]
  ? Record<string, unknown>
  : { 'tool-progress': ToolProgress } & {
      [Name in DeclaredName<DataIn<Source>>]: DataByName<DataIn<Source>, Name>;
    };

/** Tool in an agent, or in anything that has or makes an agent. */
type ToolIn<Source> = Source extends (...args: never[]) => infer Made
  ? ToolIn<Awaited<Made>>
  : Source extends { readonly agent: infer Agent }
    ? ToolIn<Agent>
    : Source extends { readonly '~types'?: (() => infer Mark) | undefined }
      ? Mark extends { readonly tools: infer T }
        ? T
        : ToolIn<Mark>
      : never;

type NamedTool<T> = T extends Tool ? (string extends T['name'] ? never : T) : never;

type TypesOf<T> =
  T extends TypedTool<string, infer Input, infer Output, infer Data>
    ? { readonly input: Input; readonly output: Output; readonly data: Data }
    : never;

/** Output of a tool in a message: its blocks, its text, or its value. */
type UiOutput<Output> = Output extends ToolContent
  ? readonly ContentBlock[]
  : Output extends Error
    ? never
    : Output extends undefined | void
      ? ''
      : JsonOf<Output>;

type DataIn<Source> = DeclaredData<TypesOf<ToolIn<Source>>>;

type DeclaredData<Types> = Types extends { readonly data: infer Data }
  ? unknown extends Data
    ? never
    : Data
  : never;

type DeclaredName<Data> = Data extends unknown ? keyof Data & string : never;

type DataByName<Data, Name> = Data extends unknown
  ? Name extends keyof Data
    ? Data[Name]
    : never
  : never;
