/** Part of a turn's JSON, in UTF-8. */
export interface TurnPiece extends Record<string, SqlStorageValue> {
  readonly bytes: ArrayBuffer;
}

/** Returns the text of the pieces. A character may be in two pieces. */
export function joinPieces(pieces: Iterable<TurnPiece>): string {
  const decoder = new TextDecoder();
  let text = '';
  for (const { bytes } of pieces) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}
