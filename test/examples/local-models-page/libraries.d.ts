// The parts of the two libraries that the recipes use, from their declarations: WebLLM 0.2.86 and
// transformers.js 4.3.1. The libraries are not installed here, because no test can load weights.

declare module '@mlc-ai/web-llm' {
  export interface ChatCompletionRequestStreaming {
    readonly stream: true;
    readonly max_tokens?: number | null;
  }
  export interface MLCEngine {
    readonly chat: {
      readonly completions: {
        create(request: ChatCompletionRequestStreaming): Promise<AsyncIterable<object>>;
      };
    };
    interruptGenerate(): Promise<void>;
  }
  export function CreateMLCEngine(
    modelId: string,
    config: { readonly initProgressCallback: (report: { readonly progress: number }) => void },
  ): Promise<MLCEngine>;
}

declare module '@huggingface/transformers' {
  export class InterruptableStoppingCriteria {
    interrupt(): void;
  }
  export class TextStreamer {
    constructor(
      tokenizer: object,
      options: {
        readonly skip_prompt: boolean;
        readonly skip_special_tokens: boolean;
        readonly callback_function: (text: string) => void;
      },
    );
    put(value: bigint[][]): void;
  }
  export interface TextGenerationPipeline {
    (
      messages: { role: string; content: string }[],
      options: {
        readonly max_new_tokens: number;
        readonly streamer: TextStreamer;
        readonly stopping_criteria: InterruptableStoppingCriteria;
      },
    ): Promise<object>;
    readonly tokenizer: object;
  }
  export function pipeline(
    task: 'text-generation',
    modelId: string,
    options: {
      readonly device: 'webgpu';
      readonly dtype: 'q4';
      readonly progress_callback: (
        info:
          | { readonly status: 'progress'; readonly progress: number }
          | { readonly status: 'initiate' | 'download' | 'done' },
      ) => void;
    },
  ): Promise<TextGenerationPipeline>;
}
