export { parseOxygent } from './middleware/text-protocol/parse-oxygent.ts';
export { parseToolCalls, type ParseContext } from './middleware/text-protocol/reply-reader.ts';
export { trustedCalls } from './middleware/text-protocol/trusted-calls.ts';
export type {
  ParsedReply,
  ReplyParser,
  CheckAnswer,
  ReplyContext,
  TextCall,
} from './middleware/text-protocol/parsed-reply.ts';
export { refuseEmptyAnswers } from './middleware/text-protocol/corrections.ts';
export { checkAnswers } from './middleware/text-protocol/check-answers.ts';
export type { CheckAnswersOptions } from './middleware/text-protocol/check-answers.ts';
export { textToolCalls } from './middleware/text-protocol/text-tool-calls.ts';
export type { TextToolCallsOptions } from './middleware/text-protocol/text-tool-calls.ts';
export type { ToolsPromptContext } from './middleware/text-protocol/tools-prompt.ts';
