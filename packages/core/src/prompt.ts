export { attachment, type AttachmentOptions } from './message/media/attachment.ts';
export { documentsText } from './message/retrieved-document.ts';
export {
  callVariables,
  promptVariables,
  renderTemplate,
} from './middleware/prompt/prompt-variables.ts';
export type {
  PromptCall,
  PromptVariablesOptions,
  TemplateOptions,
  TemplateVariables,
} from './middleware/prompt/prompt-variables.ts';
export { systemPrompt, type SystemPromptOptions } from './middleware/prompt/system-prompt.ts';
export { multiAgent, type MultiAgentOptions } from './model/multi-agent/multi-agent.ts';
