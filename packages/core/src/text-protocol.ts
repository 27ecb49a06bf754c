export { parseOxygent } from './text-protocol/parse-oxygent.ts';
export { parseToolCalls } from './text-protocol/parse-tool-calls.ts';
export type { ParseContext } from './text-protocol/parse-tool-calls.ts';
export type {
  ParsedReply,
  ParseReply,
  Reflect,
  ReplyContext,
  TextCall,
} from './text-protocol/parsed-reply.ts';
export { refuseEmpty } from './text-protocol/corrections.ts';
export type { CorrectionPart } from './text-protocol/corrections.ts';
export { textToolCalls } from './text-protocol/text-tool-calls.ts';
export type { TextToolCallsOptions } from './text-protocol/text-tool-calls.ts';
export { trustedCalls } from './text-protocol/trusted-calls.ts';
export type { ToolsPromptContext } from './text-protocol/tools-prompt.ts';
