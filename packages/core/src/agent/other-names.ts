import type { OtherNames } from '../error/options/option-table.ts';
import type { GenerateOptions } from '../model/chat-model.ts';
import type { KernelCallOptions, KernelLimits, KernelOptions } from './kernel-options.ts';

/** Names that other libraries use for the options of an agent. */
export const otherAgentNames: OtherNames<KernelOptions> = {
  systemPrompt: ['instructions', 'system', 'prompt'],
  model: ['llm'],
  memory: ['checkpointer', 'session'],
  sessionId: ['threadId'],
  use: ['middleware', 'hooks'],
  'use: [handOff({ to })]': ['handoffs'],
  'limits.iterations': ['maxSteps', 'maxTurns', 'maxIterations', 'stopWhen', 'recursionLimit'],
  'limits.toolCalls': ['maxToolCalls'],
  'limits.timeoutMs': ['timeout', 'timeoutMs'],
  generate: ['modelSettings', 'temperature', 'maxTokens', 'maxOutputTokens', 'toolChoice'],
  'call(input, { output })': ['output', 'outputType', 'responseFormat'],
};

/** Names that other libraries use for the limits of an agent. */
export const otherLimitNames: OtherNames<KernelLimits> = {
  iterations: ['maxSteps', 'maxTurns', 'maxIterations', 'steps'],
  timeoutMs: ['timeout'],
  // The kernel's `Agent` has no such limit.
  'new ReActAgent({ limits: { toolCalls } })': ['toolCalls', 'maxToolCalls'],
};

/** Names that other libraries use for the settings of model requests. */
export const otherSettingNames: OtherNames<GenerateOptions> = {
  maxTokens: ['maxOutputTokens', 'max_tokens'],
  topP: ['top_p'],
  toolChoice: ['tool_choice'],
  stop: ['stopSequences'],
};

/** Names that other libraries use for the options of an agent call. */
export const otherCallNames: OtherNames<KernelCallOptions> = {
  signal: ['abortSignal'],
  toolContext: ['context'],
  maxTokens: ['maxOutputTokens'],
  'output: structured(schema)': ['outputType', 'responseFormat', 'structuredOutput', 'schema'],
};
