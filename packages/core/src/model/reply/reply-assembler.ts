import { AgentError } from '../../error/agent-error.ts';
import type { ContentBlock, MediaBlock } from '../../message/msg.ts';
import { hostedToolOf, type HostedTool } from '../../message/provider-metadata.ts';
import { argumentsIn } from '../../message/call-arguments.ts';
import { isWholeObject, type JsonObject } from '../../message/json.ts';
import { mediaKind } from '../../message/media/media.ts';
import type { ModelDelta, Usage } from '../chat-model.ts';
import { finishError, finishMeaning } from '../finish-reason.ts';
import { addExtras, type BlockExtras, type TextDelta } from './deltas.ts';

/** An incomplete text or thinking block. Only the field with the name of `type` is set. */
interface StreamedBlock extends BlockExtras {
  readonly type: 'text' | 'thinking';
  text: string;
  thinking: string;
}

interface StreamedText {
  /** Id of its deltas. */
  readonly id: string;
  /** Unique within the session. */
  readonly blockId: string;
  readonly block: StreamedBlock;
}

interface AssembledCall extends BlockExtras {
  readonly id: string;
  name: string;
  raw: string;
}

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

/** Event for one delta of the model, without the fields of `AgentEventBase`. */
export type ReplyPiece = { readonly type: 'step-reset'; readonly reason: string } | ReplyChunk;

interface ReplyAssemblerOptions {
  readonly messageId: string;
  /**
   * Returns the id for a tool call: the model's id, or a new id if the session already has the
   * model's id.
   */
  toolUseId(id: string | undefined): string;
}

/**
 * Builds the blocks of a reply from its deltas, in this order: text and thinking as they came, then
 * media, then tool calls.
 */
export class ReplyAssembler {
  readonly #options: ReplyAssemblerOptions;
  /** Text and thinking, by the type and the id of their deltas. */
  #texts: Map<string, StreamedText> = new Map();
  /** The one that got the last delta. */
  #last: StreamedText | undefined;
  #media: MediaBlock[] = [];
  #calls: Map<number, AssembledCall> = new Map();
  #blockCount = 0;
  finishReason: string | undefined;
  usage: Usage | undefined;
  metadata: JsonObject | undefined;

  constructor(options: ReplyAssemblerOptions) {
    this.#options = options;
  }

  /** Adds a delta. Returns `undefined` if there is nothing to show. */
  add(delta: ModelDelta): ReplyPiece | undefined {
    if (delta.type === 'tool-input') return this.#addToolInput(delta);
    if (delta.type === 'reset') {
      this.#texts = new Map();
      this.#last = undefined;
      this.#media = [];
      this.#calls = new Map();
      this.finishReason = undefined;
      return { type: 'step-reset', reason: delta.reason };
    }
    if (delta.type === 'file') {
      const { mediaType, data } = delta;
      this.#media.push({ type: mediaKind(mediaType), source: { type: 'base64', mediaType, data } });
    } else if (delta.type === 'finish') {
      this.finishReason = delta.reason;
      this.usage = delta.usage;
      this.metadata = delta.metadata;
    } else return this.#addText(delta);
    return undefined;
  }

  /**
   * Error of a reply that ended inside a tool call, or that the model could not finish. Models over
   * HTTP throw it themselves. Without a `finish` delta, empty arguments may be the start of others.
   */
  get failure(): AgentError | undefined {
    if (this.finishReason !== undefined) return finishError(this.finishReason, this.#hasCalls);
    if ([...this.#calls.values()].every(({ raw }) => isWholeObject(raw))) return undefined;
    return new AgentError('MODEL_BAD_RESPONSE', 'The reply ended early', { retryable: true });
  }

  /** A provider that runs its own tools ends with `tool-calls`, too. */
  get #hasCalls(): boolean {
    return (
      this.#calls.size > 0 || [...this.#texts.values()].some(({ block }) => hostedToolOf(block))
    );
  }

  /**
   * Returns the blocks so far. `partial`: the reply is incomplete. Its tool calls may be incomplete
   * and are left out.
   */
  content(options: { readonly partial: boolean }): readonly ContentBlock[] {
    const texts = [...this.#texts.values()]
      .map((openBlock) => openBlock.block)
      .filter((block) => block[block.type] || block.signature || block.providerMetadata);
    const calls = options.partial ? [] : [...this.#calls.values()];
    const cutCall = finishMeaning(this.finishReason) === 'length' && calls.at(-1);
    const callBlocks = calls.map((call) => toolUseBlock(call, call === cutCall));
    return [...texts, ...this.#media, ...callBlocks];
  }

  #addText(delta: TextDelta): ReplyPiece | undefined {
    const { type, id } = delta;
    let openBlock = this.#last;
    if (openBlock?.id !== id || openBlock.block.type !== type) {
      const key = type + id;
      openBlock = this.#texts.get(key) ?? {
        id,
        block: { type, [type]: '' } as unknown as StreamedBlock,
        blockId: `${this.#options.messageId}:${this.#blockCount++}`,
      };
      this.#texts.set(key, openBlock);
      this.#last = openBlock;
    }
    const { block, blockId } = openBlock;
    block[type] += delta.delta;
    addExtras(block, delta);
    if (delta.delta) return { type: 'reasoning-chunk', blockId, kind: type, delta: delta.delta };
    const hostedTool = hostedToolOf(delta);
    return hostedTool && { type: 'hosted-tool-chunk', blockId, hostedTool };
  }

  #addToolInput(delta: Extract<ModelDelta, { type: 'tool-input' }>): ReplyPiece | undefined {
    let call = this.#calls.get(delta.index);
    if (!call) {
      call = { id: this.#options.toolUseId(delta.id), name: '', raw: '' };
      this.#calls.set(delta.index, call);
    }
    const { id, name } = call;
    call.name ||= delta.name ?? '';
    call.raw += delta.delta;
    addExtras(call, delta);
    if (delta.id && delta.id !== id) addExtras(call, { providerMetadata: { id: delta.id } });
    // If the name comes after some arguments, its chunk contains all arguments so far. A name
    // without arguments also makes a chunk, so that readers see the tool call.
    return call.name && (!name || delta.delta)
      ? {
          type: 'tool-input-chunk',
          toolUseId: id,
          name: call.name,
          delta: name ? delta.delta : call.raw,
        }
      : undefined;
  }
}

/** `isCut`: whether the reply reached its length limit within the call. */
function toolUseBlock({ raw, ...call }: AssembledCall, isCut: boolean): ContentBlock {
  // The arguments of such a call were still to come, so they are not empty.
  const isWithoutInput = isCut && !raw.trim();
  return {
    type: 'tool_use',
    ...call,
    ...(isWithoutInput ? { input: null, raw } : argumentsIn(raw)),
  };
}
