/**
 * Returns advice for a request to Ollama that got no response, or an empty text outside a browser. A
 * browser does not say whether Ollama does not run or does not allow the page (CORS).
 */
export function ollamaAdvice(url: string): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  if (!location || !url.includes(':11434/')) return '';
  return `. Start Ollama with OLLAMA_ORIGINS=${location.origin}`;
}
