export { attachment, type AttachmentOptions } from './middleware/prompt/attachment.ts';
export { documentsText } from './message/retrieved-document.ts';
export { callVariables, promptVariables } from './middleware/prompt/prompt-variables.ts';
export type { PromptCall, PromptVariablesOptions } from './middleware/prompt/prompt-variables.ts';
export { renderTemplate } from './middleware/prompt/render-template.ts';
export type { TemplateOptions, TemplateVariables } from './middleware/prompt/render-template.ts';
export { systemPrompt, type SystemPromptOptions } from './middleware/prompt/system-prompt.ts';
export { multiAgent, type MultiAgentOptions } from './model/multi-agent/multi-agent.ts';
