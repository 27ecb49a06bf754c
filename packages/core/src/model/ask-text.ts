import { AgentError } from '../error/agent-error.ts';
import { systemMessage, userMessage } from '../message/msg.ts';
import { markAsProgram } from '../message/metadata.ts';
import { Deadline } from '../wait/deadline.ts';
import type { ChatModel, GenerateOptions, ModelRequest, RunInfo, Usage } from './chat-model.ts';
import { defaultReplyLength } from './reply/reply-length.ts';

/** A model request outside the conversation, whose reply is a text. */
export interface TextRequest {
  /** Model of an agent, or a model of `boundedModel()`. */
  readonly model: ChatModel;
  readonly system: string;
  readonly user: string;
  readonly generate?: GenerateOptions | undefined;
  /** Signal that ends the request. In middleware: `run.stopSignal`. */
  readonly signal: AbortSignal;
  /** Maximum time of the request, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Run that the request belongs to. */
  readonly run?: RunInfo | undefined;
  /** Reader of the reply: `program` for a value in JSON or YAML, `model` for a note. */
  readonly replyFor: NonNullable<ModelRequest['replyFor']>;
  /** Name of the requested text, for the error if the reply has no text. */
  readonly what: string;
  /**
   * Called with the token usage when the model reports it, even if the request fails later. In
   * middleware: `run.model.addUsage`.
   */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
}

/**
 * Sends one model request outside the conversation and returns the text of the reply. Rejects with
 * the model's error, with `MODEL_TIMEOUT`, or with `MODEL_BAD_RESPONSE` if the reply has no text.
 */
export async function askText(request: TextRequest): Promise<string> {
  const deadline = new Deadline(request.signal, request.timeoutMs ?? Infinity);
  try {
    const text = await deadline.wait(() => textOfReply(request, deadline.signal));
    if (text) return text;
    throw new AgentError('MODEL_BAD_RESPONSE', `The model returned no ${request.what}.`);
  } finally {
    deadline.end();
  }
}

async function textOfReply(
  { model, system, user, generate, replyFor, run, onUsage }: TextRequest,
  signal: AbortSignal,
): Promise<string> {
  const messages = [systemMessage(system), markAsProgram(userMessage(user))];
  let text = '';
  for await (const deltas of model.stream(
    { ...generate, messages, tools: [], replyFor },
    { signal, run, replyLength: defaultReplyLength },
  )) {
    signal.throwIfAborted();
    for (const delta of deltas) {
      if (delta.type === 'text') text += delta.delta;
      else if (delta.type === 'reset') text = '';
      else if (delta.type === 'finish' && delta.usage) onUsage?.(delta.usage);
    }
  }
  return text.trim();
}
