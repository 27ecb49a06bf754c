import type { ModelDelta } from './chat-model.ts';

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
