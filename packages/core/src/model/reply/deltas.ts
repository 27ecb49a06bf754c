import type { JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';

/** A piece of a text block or of a thinking block. */
export type TextDelta = Extract<ModelDelta, { type: 'text' | 'thinking' }>;

/** The last delta of a complete reply. */
export type FinishDelta = Extract<ModelDelta, { type: 'finish' }>;

/** What a provider adds to a block of a reply. It gets the block back unchanged. */
export interface BlockExtras {
  signature?: string;
  providerMetadata?: JsonObject;
}

/** Adds what came with a delta to what came with the earlier deltas of its block. */
export function addExtras(
  block: BlockExtras,
  { signature, providerMetadata }: Readonly<BlockExtras>,
): void {
  if (signature) block.signature = (block.signature ?? '') + signature;
  if (providerMetadata) block.providerMetadata = { ...block.providerMetadata, ...providerMetadata };
}

/**
 * Returns whether one of the deltas adds content to a reply. Some servers send empty deltas while
 * they wait.
 */
export function hasContent(deltas: readonly ModelDelta[]): boolean {
  return deltas.some(
    (delta) =>
      !('delta' in delta) ||
      delta.delta !== '' ||
      'name' in delta ||
      delta.signature !== undefined ||
      delta.providerMetadata !== undefined,
  );
}

/** Joins adjacent deltas of the same block. The content of the reply stays the same. */
export function joinDeltas(deltas: readonly ModelDelta[]): readonly ModelDelta[] {
  const joinedDeltas: ModelDelta[] = [];
  for (const delta of deltas) {
    const last = joinedDeltas.at(-1);
    if (last && 'delta' in last && 'delta' in delta && continues(last, delta))
      joinedDeltas[joinedDeltas.length - 1] = { ...last, delta: last.delta + delta.delta };
    else joinedDeltas.push(delta);
  }
  return joinedDeltas;
}

function continues(last: ModelDelta, delta: ModelDelta): boolean {
  if (delta.signature !== undefined || delta.providerMetadata) return false;
  if (delta.type === 'tool-input') {
    return (
      last.type === delta.type &&
      last.index === delta.index &&
      delta.id === undefined &&
      delta.name === undefined
    );
  }
  return (
    (delta.type === 'text' || delta.type === 'thinking') &&
    last.type === delta.type &&
    last.id === delta.id
  );
}
