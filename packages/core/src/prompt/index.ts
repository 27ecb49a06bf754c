export { callVariables, promptVariables, renderTemplate } from './prompt-variables.ts';
export type {
  PromptCall,
  PromptVariablesOptions,
  TemplateOptions,
  TemplateVariables,
} from './prompt-variables.ts';
export { systemPrompt } from './system-prompt.ts';
export type { SystemPromptOptions } from './system-prompt.ts';
