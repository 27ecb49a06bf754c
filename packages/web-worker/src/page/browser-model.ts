import { AgentError, messageOf, outputText } from '@isoloop/core';
import type { ChatModel, ContentBlock, ModelDelta, ModelRequest, Msg } from '@isoloop/core';

/** The part of the browser's Prompt API that `browserModel` uses. */
export interface LanguageModelApi {
  availability(
    options?: LanguageModelOptions,
  ): Promise<'unavailable' | 'downloadable' | 'downloading' | 'available'>;
  create(options?: LanguageModelCreateOptions): Promise<LanguageModelSession>;
}

export interface LanguageModelOptions {
  readonly expectedInputs?: readonly {
    readonly type: 'text';
    readonly languages?: readonly string[];
  }[];
  readonly expectedOutputs?: readonly {
    readonly type: 'text';
    readonly languages?: readonly string[];
  }[];
}

export interface LanguageModelCreateOptions extends LanguageModelOptions {
  readonly initialPrompts?: readonly LanguageModelPrompt[];
  readonly signal?: AbortSignal;
  readonly monitor?: (monitor: EventTarget) => void;
}

export interface LanguageModelPrompt {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface LanguageModelSession {
  promptStreaming(
    input: readonly LanguageModelPrompt[],
    options?: { readonly signal?: AbortSignal; readonly responseConstraint?: object },
  ): ReadableStream<string>;
  destroy(): void;
}

export interface BrowserModelOptions {
  /** Languages the model reads and writes, as BCP 47 tags; default: the browser's. */
  readonly languages?: readonly string[];
  /**
   * Called during the model's download, which may take minutes, with the loaded share from 0 to 1.
   */
  readonly onDownload?: (loaded: number) => void;
  /** The Prompt API; default: the browser's own, `LanguageModel`. */
  readonly api?: LanguageModelApi;
}

/**
 * Returns the browser's built-in model (Prompt API: `LanguageModel`; Chrome from 148 on). Only
 * pages have it, workers don't: give it to the agent with `pageModel(browserModel())`. It has no
 * tool calls: the agent needs `textToolCalls()`. It follows a response schema. A placeholder
 * replaces media in the messages. Fails with `MODEL_REQUEST` if the browser has no such model.
 * Fails with `MODEL_CONTEXT_LENGTH` if the input is too long for it.
 */
export function browserModel({ languages, onDownload, api }: BrowserModelOptions = {}): ChatModel {
  const expected = languages && [{ type: 'text' as const, languages }];
  const kinds: LanguageModelOptions = expected
    ? { expectedInputs: expected, expectedOutputs: expected }
    : {};
  return {
    provider: 'browser',
    modelId: 'LanguageModel',
    features: { tools: false, media: [] },
    async *stream(request, { signal }) {
      const model =
        api ?? (globalThis as { readonly LanguageModel?: LanguageModelApi }).LanguageModel;
      let session: LanguageModelSession | undefined;
      try {
        if (!model || (await model.availability(kinds)) === 'unavailable') throw unavailable();
        const prompts = toPrompts(request.messages);
        session = await model.create({
          ...kinds,
          signal,
          initialPrompts: prompts.slice(0, -1),
          ...(onDownload && {
            monitor: (monitor) =>
              monitor.addEventListener('downloadprogress', (event) =>
                onDownload((event as ProgressEvent).loaded),
              ),
          }),
        });
        const { responseSchema } = request;
        const stream = session.promptStreaming(prompts.slice(-1), {
          signal,
          ...(responseSchema && { responseConstraint: responseSchema }),
        });
        yield* toDeltas(stream);
      } catch (error) {
        throw toModelError(error, signal);
      } finally {
        session?.destroy();
      }
    },
  };
}

async function* toDeltas(stream: ReadableStream<string>): AsyncGenerator<readonly ModelDelta[]> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (value) yield [{ type: 'text', id: 'text', delta: value }];
    }
    yield [{ type: 'finish', reason: 'stop' }];
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * Converts the messages to prompts. The API takes a system prompt only first, and a user's prompt
 * last.
 */
function toPrompts(messages: ModelRequest['messages']): readonly LanguageModelPrompt[] {
  const system = messages.filter(({ role }) => role === 'system').map(toText);
  const said = messages.flatMap((message): LanguageModelPrompt[] => {
    if (message.role === 'system') return [];
    return [
      { role: message.role === 'assistant' ? 'assistant' : 'user', content: toText(message) },
    ];
  });
  if (said.at(-1)?.role !== 'user') said.push({ role: 'user', content: 'Go on.' });
  return system.length ? [{ role: 'system', content: system.join('\n\n') }, ...said] : said;
}

function toText({ content }: Msg): string {
  return content.map(blockText).filter(Boolean).join('\n');
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return '';
    case 'tool_use':
      return `[call of ${block.name}: ${block.raw ?? JSON.stringify(block.input)}]`;
    case 'tool_result':
      return outputText(block.output);
    default:
      return `[${block.type}${block.name === undefined ? '' : `: ${block.name}`}]`;
  }
}

function unavailable(): AgentError {
  return new AgentError(
    'MODEL_REQUEST',
    'This browser has no built-in model, or none for these languages or this device.',
  );
}

function toModelError(error: unknown, signal: AbortSignal): unknown {
  if (AgentError.is(error) || signal.aborted) return error;
  const name = error instanceof Error ? error.name : '';
  const message = `The browser's model failed: ${messageOf(error)}`;
  if (name === 'QuotaExceededError')
    return new AgentError('MODEL_CONTEXT_LENGTH', message, { cause: error });
  if (['NotAllowedError', 'NotSupportedError', 'InvalidStateError', 'SyntaxError'].includes(name))
    return new AgentError('MODEL_REQUEST', message, { cause: error });
  if (name === 'NetworkError')
    return new AgentError('MODEL_UNREACHABLE', message, { cause: error, retryable: true });
  return new AgentError('MODEL_SERVER', message, { cause: error, retryable: true });
}
