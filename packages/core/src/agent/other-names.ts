import type { OtherNames } from '../error/option-table.ts';
import type { GenerateOptions } from '../model/chat-model.ts';
import type { KernelCallOptions, KernelLimits, KernelOptions } from './kernel-options.ts';

/** Names that other libraries use for the options of an agent. */
export const otherAgentNames: OtherNames<KernelOptions> = {
  name: ['id'],
  systemPrompt: [
    'instructions',
    'system',
    'prompt',
    'systemMessage',
    'system_prompt',
    'stateModifier',
    'messageModifier',
  ],
  model: ['llm'],
  tools: ['toolkit'],
  toolContext: ['context'],
  memory: ['checkpointer', 'session'],
  sessionId: ['threadId', 'thread_id', 'conversationId', 'chatId'],
  use: ['middleware', 'plugins', 'inputProcessors', 'outputProcessors'],
  "use: [{ on: { 'pre-reasoning': handler } }]": ['hooks', 'prepareStep', 'preModelHook'],
  "use: [{ on: { 'post-reasoning': handler } }]": ['onStepFinish', 'onStepEnd', 'postModelHook'],
  'use: [approvals({ needsApproval })]': ['needsApproval', 'toolApproval', 'interruptOn'],
  'use: [handOff({ to: agents })]': ['handoffs', 'agents', 'subAgents', 'subagents'],
  'use: [retry({ attempts })]': ['maxRetries', 'retries'],
  'use: [inputGuard(name, check)]': ['inputGuardrails'],
  'use: [outputGuards(rules)]': ['outputGuardrails'],
  'limits.iterations': [
    'maxSteps',
    'maxTurns',
    'maxIterations',
    'maxIters',
    'stopWhen',
    'recursionLimit',
  ],
  'limits.timeoutMs': ['timeout', 'timeoutMs'],
  'limits.toolCalls': ['maxToolCalls'],
  generate: ['modelSettings', 'modelConfig', 'settings', 'callSettings'],
  'generate.maxTokens': ['maxTokens', 'maxOutputTokens', 'max_tokens'],
  'generate.temperature': ['temperature'],
  'generate.topP': ['topP', 'top_p'],
  'generate.toolChoice': ['toolChoice', 'tool_choice'],
  'generate.stop': ['stop', 'stopSequences'],
  'generate.providerOptions': ['providerOptions'],
  'agentTool(agent, { description })': ['description', 'handoffDescription'],
  'call(input, { output: structured(schema) })': [
    'output',
    'outputType',
    'outputSchema',
    'responseFormat',
    'response_format',
    'schema',
  ],
};

/** Names that other libraries use for the limits of an agent. */
export const otherLimitNames: OtherNames<KernelLimits> = {
  iterations: [
    'steps',
    'turns',
    'maxSteps',
    'maxTurns',
    'maxIterations',
    'maxIters',
    'stopWhen',
    'recursionLimit',
  ],
  timeoutMs: ['timeout'],
  // The kernel's `Agent` has no such limits.
  'new ReActAgent({ limits: { toolCalls } })': ['toolCalls', 'maxToolCalls'],
  'new ReActAgent({ limits: { tokens } })': ['tokens', 'maxTokens'],
};

/** Names that other libraries use for the settings of model requests. */
export const otherSettingNames: OtherNames<GenerateOptions> = {
  maxTokens: [
    'maxOutputTokens',
    'max_tokens',
    'maxCompletionTokens',
    'max_completion_tokens',
    'max_output_tokens',
  ],
  topP: ['top_p'],
  toolChoice: ['tool_choice'],
  stop: ['stopSequences', 'stop_sequences'],
  responseSchema: ['responseFormat', 'response_format', 'outputSchema'],
  providerOptions: ['topK', 'top_k', 'reasoningEffort', 'reasoning', 'thinking', 'extraBody'],
};

/** Names that other libraries use for the options of an agent call. */
export const otherCallNames: OtherNames<KernelCallOptions> = {
  signal: ['abortSignal', 'abortController'],
  'signal: AbortSignal.timeout(ms)': ['timeout', 'timeoutMs'],
  toolContext: ['context', 'requestContext', 'runtimeContext', 'experimental_context'],
  maxTokens: ['maxOutputTokens', 'max_tokens'],
  stop: ['stopSequences'],
  'output: structured(schema)': [
    'outputType',
    'outputSchema',
    'structuredOutput',
    'responseFormat',
    'response_format',
    'schema',
    'experimental_output',
  ],
  'new ReActAgent({ systemPrompt })': ['system', 'systemPrompt', 'prompt'],
  'new ReActAgent({ limits: { iterations } })': [
    'maxSteps',
    'maxTurns',
    'maxIterations',
    'stopWhen',
    'recursionLimit',
    'limits',
  ],
  'new ReActAgent({ memory: new SessionMemory(store, sessionId) })': [
    'session',
    'sessionId',
    'threadId',
    'thread_id',
    'configurable',
    'memory',
  ],
  'new ReActAgent({ tools })': ['tools'],
};
