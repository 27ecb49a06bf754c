import type { HostedTool } from '../message/provider-metadata.ts';

/** New content of a model's reply, as events show it. */
export type ReplyChunk =
  | {
      readonly type: 'reasoning-chunk';
      readonly blockId: string;
      readonly kind: 'text' | 'thinking';
      readonly delta: string;
    }
  | {
      readonly type: 'tool-input-chunk';
      readonly toolUseId: string;
      readonly name: string;
      readonly delta: string;
    }
  | {
      readonly type: 'hosted-tool-chunk';
      readonly blockId: string;
      /** The call as it is known so far. The next chunk of the same block replaces it. */
      readonly hostedTool: HostedTool;
    };
