import {
  outputText,
  ReActAgent,
  textOf,
  tool,
  toolResultsOf,
  toolUsesOf,
  type AgentOptions,
  type ModelRequest,
  type Msg,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type ToolResult,
  type ToolUse,
} from '@isoloop/core';
import { type PositionHook, springAiAlibaba } from '@isoloop/presets';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';

// What the document of Spring AI Alibaba's ReactAgent says, checked through the public API alone.

interface SetUp extends Partial<Omit<AgentOptions, 'model'>> {
  readonly preset?: Parameters<typeof springAiAlibaba>[0];
}

interface Made {
  readonly model: ScriptedModel;
  readonly agent: ReActAgent;
}

export const anyInput = { type: 'object' } as const;

/** Returns an agent with the preset, and its model. */
export function alibaba(
  replies: readonly ScriptedReply[],
  { preset, use = [], ...options }: SetUp = {},
): Made {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    ...options,
    use: [springAiAlibaba(preset), ...use],
  });
  return { model, agent };
}

/** Returns a tool that records each of its runs in `log` and answers `<name> done`. */
export function noting(
  log: string[],
  name: string,
  {
    run,
    ...options
  }: Partial<Pick<Tool, 'returnDirect' | 'replay'>> & {
    readonly run?: (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;
  } = {},
): Tool {
  return tool({
    name,
    description: name,
    input: anyInput,
    ...options,
    execute: (input, context) => {
      log.push(name);
      return run === undefined ? `${name} done` : run(input, context);
    },
  });
}

/** Returns a reply that calls each of the tools once. The id of a call is `<name>-id`. */
export const calls = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name, id: `${name}-id` })),
});

/** Creates a hook that records its four positions. */
export const notingHook = (
  log: string[],
  name: string,
  more: Partial<PositionHook> = {},
): PositionHook => ({
  name,
  beforeAgent: () => void log.push(`${name}.beforeAgent`),
  beforeModel: () => void log.push(`${name}.beforeModel`),
  afterModel: () => void log.push(`${name}.afterModel`),
  afterAgent: () => void log.push(`${name}.afterAgent`),
  ...more,
});

export const lineOf = (message: Msg): string =>
  [
    `${message.role}:`,
    textOf(message),
    ...toolUsesOf(message).map(({ name, input }) => `${name}(${JSON.stringify(input)})`),
    ...toolResultsOf(message).map(({ name, output }) => `${name}=${outputText(output)}`),
  ]
    .filter((part) => part !== '')
    .join(' ');

export const lines = (messages: readonly Msg[]): readonly string[] => messages.map(lineOf);

export const sent = (request: ModelRequest | undefined): readonly string[] =>
  lines(request?.messages ?? []);

export const resultsIn = (messages: readonly Msg[]): readonly ToolResult[] =>
  messages.flatMap(toolResultsOf);

export const toolUse = (name: string): ToolUse => ({
  type: 'tool_use',
  id: `${name}-id`,
  name,
  input: {},
});
