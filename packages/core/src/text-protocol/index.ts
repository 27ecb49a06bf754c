export { checkAnswers } from './check-answers.ts';
export type { CheckAnswersOptions } from './check-answers.ts';
export type { CheckAnswer, ParsedReply, ReplyParser, TextCall } from './parsed-reply.ts';
export { parseToolCalls } from './reply-reader.ts';
export type { ParseContext } from './reply-reader.ts';
export { textToolCalls } from './text-tool-calls.ts';
export type { TextToolCallsOptions } from './text-tool-calls.ts';
export type { ToolsPromptContext } from './tools-prompt.ts';
