/**
 * Message of a conversation, as a page shows it. It has the structure of AI SDK's `UIMessage`, so
 * components for AI SDK accept it, and the other way round.
 */
export interface UIMessage<
  Metadata = unknown,
  Data extends Record<string, unknown> = Record<string, unknown>,
  Tools extends UITools = UITools,
> {
  id: string;
  role: 'system' | 'user' | 'assistant';
  metadata?: Metadata;
  parts: UIMessagePart<Data, Tools>[];
}

/** Types of the input and the output of tools, by the name of the tool. */
export type UITools = Record<string, { input: unknown; output: unknown }>;

/** One part of a message, as a page shows it. */
export type UIMessagePart<
  Data extends Record<string, unknown> = Record<string, unknown>,
  Tools extends UITools = UITools,
> =
  | TextUIPart
  | (ProviderFields & {
      type: 'reasoning';
      id?: string;
      text: string;
      state?: 'streaming' | 'done';
    })
  | FileUIPart
  | (ProviderFields & { type: 'reasoning-file'; mediaType: string; url: string })
  | (ProviderFields & { type: 'source-url'; sourceId: string; url: string; title?: string })
  | (ProviderFields & {
      type: 'source-document';
      sourceId: string;
      mediaType: string;
      title: string;
      filename?: string;
    })
  | (ProviderFields & { type: 'custom'; kind: `${string}.${string}` })
  | { type: 'steering-message'; id: string; parts: (TextUIPart | FileUIPart)[] }
  | { type: 'step-start' }
  | DataUIPart<Data>
  | ToolUIPart<Tools>
  | DynamicToolUIPart;

/** A text in a message. */
export type TextUIPart = ProviderFields & {
  type: 'text';
  text: string;
  state?: 'streaming' | 'done';
  citations?: Citation[];
};

/** A file in a message. */
export type FileUIPart = ProviderFields & {
  type: 'file';
  /** Media type such as `image/png`. */
  mediaType: string;
  filename?: string;
  /** Address of the file, or a data URL with its content. */
  url: string;
  providerReference?: Record<string, string>;
};

/** Typed data of a tool. */
export type DataUIPart<Data extends Record<string, unknown> = Record<string, unknown>> = {
  [Name in keyof Data & string]: { type: `data-${Name}`; id?: string; data: Data[Name] };
}[keyof Data & string];

/** Call of a tool whose types are known. */
export type ToolUIPart<Tools extends UITools = UITools> = {
  [Name in keyof Tools & string]: { type: `tool-${Name}` } & UICall<
    Tools[Name]['input'],
    PartialInput<Tools[Name]['input']>,
    Tools[Name]['output']
  >;
}[keyof Tools & string];

/** Call of a tool whose types are not known, for example because the provider runs it. */
export type DynamicToolUIPart = {
  type: 'dynamic-tool';
  dynamic?: false;
  toolName: string;
} & UICall<unknown, unknown, unknown>;

/** Call of a tool in each of its states. `Draft`: the input as far as it has arrived. */
type UICall<Input, Draft, Output> = {
  toolCallId: string;
  title?: string;
  toolMetadata?: JsonFields;
  providerExecuted?: boolean;
  callProviderMetadata?: Record<string, JsonFields>;
} & (
  | StateOnly<{
      state: 'input-streaming';
      input?: Draft | undefined;
      rawInput?: string;
      inputEncoding?: 'json' | 'text';
    }>
  | StateOnly<{ state: 'input-available'; input: Input }>
  | StateOnly<{ state: 'approval-requested'; input: Input; approval: Approval<undefined> }>
  | StateOnly<{ state: 'approval-responded'; input: Input; approval: Approval<boolean> }>
  | StateOnly<{
      state: 'output-available';
      input: Input;
      output: Output;
      preliminary?: boolean;
      approval?: Approval<true>;
      resultProviderMetadata?: Record<string, JsonFields>;
    }>
  | StateOnly<{
      state: 'output-error';
      input: Input | undefined;
      rawInput?: unknown;
      errorText: string;
      approval?: Approval<true>;
      resultProviderMetadata?: Record<string, JsonFields>;
    }>
  | StateOnly<{ state: 'output-denied'; input: Input; approval: Approval<false> }>
);

/** A state without the fields of other states, so that a page may read them from each part. */
type StateOnly<Fields> = Fields & {
  [Name in Exclude<'output' | 'errorText' | 'approval', keyof Fields>]?: never;
};

type Approval<Approved extends boolean | undefined> = {
  id: string;
  descriptor?: unknown;
  inputSchemaInput?: unknown;
  requestReason?: string;
  isAutomatic?: boolean;
  signature?: string;
} & (Approved extends boolean
  ? { approved: Approved; reason?: string }
  : { approved?: never; reason?: never });

interface ProviderFields {
  providerMetadata?: Record<string, JsonFields>;
}

/** Place in a text and the source that supports it. */
interface Citation {
  source: { type: 'source'; id: string } & ProviderFields &
    (
      | { sourceType: 'url'; url: string; title?: string }
      | { sourceType: 'document'; mediaType: string; title: string; filename?: string }
    );
  startIndex?: number;
  endIndex?: number;
  citedText?: string;
}

type PartialInput<T> = T extends readonly (infer Item)[]
  ? PartialItems<T, Item>
  : T extends object
    ? { [Name in keyof T]?: PartialInput<T[Name]> }
    : T;

type PartialItems<List, Item> = Item[] extends List
  ? PartialInput<Item | undefined>[]
  : readonly PartialInput<Item | undefined>[];

type Json = null | string | number | boolean | Readonly<JsonFields> | readonly Json[];

type JsonFields = { [name: string]: Json | undefined };

/** Returns whether a part is the call of a tool. */
export function isToolUIPart<Data extends Record<string, unknown>, Tools extends UITools>(
  part: UIMessagePart<Data, Tools>,
): part is Extract<UIMessagePart<Data, Tools>, { toolCallId: string }> {
  return part.type === 'dynamic-tool' || part.type.startsWith('tool-');
}

/** Returns the name of the tool that a part calls. */
export function getToolName(part: { readonly type: string; readonly toolName?: string }): string {
  return part.toolName ?? part.type.slice('tool-'.length);
}
