import {
  AgentError,
  errorText,
  outputText,
  type ChatModel,
  type ContentBlock,
  type ModelDelta,
  type ModelRequest,
  type Msg,
} from '@isoloop/core';
import {
  checkOptions,
  array,
  optional,
  func,
  anything,
  type OptionTable,
} from '@isoloop/core/options';

/** Part of the browser's Prompt API that `browserModel` uses. */
export interface LanguageModelApi {
  availability(
    options?: LanguageModelOptions,
  ): Promise<'unavailable' | 'downloadable' | 'downloading' | 'available'>;
  create(options?: LanguageModelCreateOptions): Promise<LanguageModelSession>;
}

interface LanguageModelOptions {
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

interface LanguageModelSession {
  promptStreaming(
    input: readonly LanguageModelPrompt[],
    options?: { readonly signal?: AbortSignal; readonly responseConstraint?: object },
  ): ReadableStream<string>;
  destroy(): void;
}

/** Languages of the browser's model, and who hears how much of it is loaded. */
export interface BrowserModelOptions {
  /**
   * Languages that the model reads and writes, as BCP 47 tags. Default: the languages of the
   * browser.
   */
  readonly languages?: readonly string[];
  /**
   * Called during the download of the model with the loaded share, from 0 to 1. The download may
   * take minutes.
   */
  readonly onDownload?: (loaded: number) => void;
  /** Prompt API to use. Default: the global `LanguageModel` of the browser. */
  readonly api?: LanguageModelApi;
}

/**
 * Returns the built-in model of the browser (Prompt API: `LanguageModel`; Chrome 148 and later).
 * The API exists only in pages, not in workers. Offer the model to an agent in a worker with
 * `pageModel(browserModel())`.
 *
 * The model has no native tool calls, so an agent with tools needs `textToolCalls()`. The model
 * supports response schemas. It ignores `temperature`, `topP`, `maxTokens`, `seed` and `stop`,
 * which the API does not offer to pages. A placeholder replaces each media block in the messages.
 * Fails with `MODEL_REQUEST` if the browser has no built-in model, and with `MODEL_CONTEXT_LENGTH`
 * if the input is too long. A browser that must load its model first does so only after a click:
 * without one, the call fails with `MODEL_REQUEST`.
 */
export function browserModel(options: BrowserModelOptions = {}): ChatModel {
  checkOptions('browserModel()', options, browserModelOptions);
  const { languages, onDownload, api } = options;
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
        if (!model || (await model.availability(kinds)) === 'unavailable') throw unavailableError();
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

const browserModelOptions: OptionTable<BrowserModelOptions> = {
  languages: optional(array),
  onDownload: optional(func),
  api: anything,
};

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
 * Converts the messages to prompts. The Prompt API requires the system prompt at the beginning and
 * a user prompt at the end.
 */
function toPrompts(messages: ModelRequest['messages']): readonly LanguageModelPrompt[] {
  const system = messages.filter(({ role }) => role === 'system').map(toText);
  const prompts = messages.flatMap((message): LanguageModelPrompt[] => {
    if (message.role === 'system') return [];
    return [
      { role: message.role === 'assistant' ? 'assistant' : 'user', content: toText(message) },
    ];
  });
  if (prompts.at(-1)?.role !== 'user') prompts.push({ role: 'user', content: 'Go on.' });
  return system.length ? [{ role: 'system', content: system.join('\n\n') }, ...prompts] : prompts;
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

function unavailableError(): AgentError {
  return new AgentError(
    'MODEL_REQUEST',
    'This browser has no built-in model, or none for these languages or this device.',
  );
}

function toModelError(error: unknown, signal: AbortSignal): unknown {
  if (AgentError.is(error) || signal.aborted) return error;
  const name = error instanceof Error ? error.name : '';
  const message = `The browser's model failed: ${errorText(error)}`;
  if (name === 'QuotaExceededError')
    return new AgentError('MODEL_CONTEXT_LENGTH', message, { cause: error });
  if (['NotAllowedError', 'NotSupportedError', 'InvalidStateError', 'SyntaxError'].includes(name))
    return new AgentError('MODEL_REQUEST', message, { cause: error });
  if (name === 'NetworkError')
    return new AgentError('MODEL_UNREACHABLE', message, { cause: error, retryable: true });
  return new AgentError('MODEL_SERVER', message, { cause: error, retryable: true });
}
