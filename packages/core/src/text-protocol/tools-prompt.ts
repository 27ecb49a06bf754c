import type { ToolChoice, ToolSchema } from '../model/chat-model.ts';

/**
 * What the prompt of `textToolCalls()` may tell the model: the tools and whether it must call one.
 */
export interface ToolsPromptContext {
  readonly tools: readonly ToolSchema[];
  /**
   * Name, description and JSON Schema of each tool as text, with blank lines between the tools.
   * Empty if the system prompt already has this text. Tools of a client are not in it: a message
   * after the system prompt describes them.
   */
  readonly toolsText: string;
  /** Whether a reply may make several tool calls. */
  readonly parallel: boolean;
  /** `auto`, `required`, or the tool that the model has to call. */
  readonly toolChoice: Exclude<ToolChoice, 'none'>;
}

/**
 * Returns the text that tells the model about its tools. The text is added after the system prompt.
 */
export function toolsPrompt({ toolsText, parallel, toolChoice }: ToolsPromptContext): string {
  const several = parallel
    ? 'To call several tools at once, make it a list of such objects.'
    : 'Call one tool at a time.';
  const forcedLine =
    typeof toolChoice === 'object' ? `Call the tool "${toolChoice.name}" now.` : 'Call a tool now.';
  const lines = [
    '# Tools',
    '',
    `You can call the tools ${toolsText ? 'below' : 'above'}. To call one, reply with nothing but a block like this:`,
    '',
    '```json',
    '{"think": "why, in short", "tool_name": "its name", "arguments": {}}',
    '```',
    '',
    `"arguments" is an object that fits the tool's JSON Schema, or {} if there are none. ${several} Write strict JSON.`,
    'Then stop: the next message has the results, as "Tool [name] execution result: …". Never write results yourself.',
    'When you know enough, answer in words, without such a block.',
    ...(toolChoice === 'auto' ? [] : [forcedLine]),
    ...(toolsText ? ['', toolsText] : []),
  ];
  return lines.join('\n');
}
