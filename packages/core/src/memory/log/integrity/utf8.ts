let encoder: TextEncoder | undefined;

/** Returns the UTF-8 bytes of a text. Keeps its encoder, because a new one costs more than a text. */
export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  encoder ??= new TextEncoder();
  return encoder.encode(text);
}
