import { AgentError } from '../error/agent-error.ts';
import { systemMessage, userMessage } from '../message/create-message.ts';
import type { ChatModel, GenerateOptions, ModelRequest, RunInfo } from './chat-model.ts';
import type { Usage } from './usage.ts';

export interface TextRequest {
  readonly model: ChatModel;
  readonly system: string;
  readonly user: string;
  readonly generate?: GenerateOptions | undefined;
  readonly signal: AbortSignal;
  /** The run it is asked for. */
  readonly run?: RunInfo | undefined;
  readonly replyIs: NonNullable<ModelRequest['replyIs']>;
  /** What is asked for, for the error of a reply without it. */
  readonly what: string;
  /** Told what the request has cost, also where it fails in the end. */
  onUsage?(usage: Usage): void;
}

/**
 * Asks a model beside the conversation. Rejects as the model does, and with `MODEL_BAD_RESPONSE`
 * for a reply without text.
 */
export async function askText({
  model,
  system,
  user,
  generate,
  replyIs,
  signal,
  run,
  what,
  onUsage,
}: TextRequest): Promise<string> {
  const messages = [systemMessage(system), userMessage(user)];
  let text = '';
  for await (const deltas of model.stream(
    { ...generate, messages, tools: [], replyIs },
    { signal, run },
  )) {
    signal.throwIfAborted();
    for (const delta of deltas) {
      if (delta.type === 'text') text += delta.delta;
      else if (delta.type === 'reset') text = '';
      else if (delta.type === 'finish' && delta.usage) onUsage?.(delta.usage);
    }
  }
  if (!text.trim()) throw new AgentError('MODEL_BAD_RESPONSE', `The model gave no ${what}.`);
  return text.trim();
}
