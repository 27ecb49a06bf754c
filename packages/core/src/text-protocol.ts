export { parseOxygent } from './protocol/parse-oxygent.ts';
export { parseToolCalls } from './protocol/parse-tool-calls.ts';
export type { ParseContext } from './protocol/parse-tool-calls.ts';
export type { ParsedReply, ParseReply, Reflect, ReplyContext, TextCall } from './protocol/parsed-reply.ts';
export { refuseEmpty, textToolCalls } from './protocol/text-tool-calls.ts';
export type { CorrectionPart, TextToolCallsOptions } from './protocol/text-tool-calls.ts';
export { trustedCalls } from './protocol/trusted-calls.ts';
export type { ToolsPromptContext } from './protocol/tools-prompt.ts';
