/** The part of the Prompt API that says whether there is a model. */
interface LanguageModelApi {
  availability(): Promise<'unavailable' | 'downloadable' | 'downloading' | 'available'>;
}

export interface BrowserModelState {
  readonly works: boolean;
  /** What the model is, and what it needs. */
  readonly says: string;
}

const needs =
  'Needs Chrome 148 or later on a computer with about 22 GB of free disk space. No key, and nothing leaves this machine.';

/** Asks the browser whether it has a model of its own (Prompt API). */
export async function browserModelState(): Promise<BrowserModelState> {
  const { LanguageModel: api } = globalThis as { readonly LanguageModel?: LanguageModelApi };
  if (!api) return { works: false, says: `This browser has none. ${needs}` };
  switch (await api.availability().catch(() => 'unavailable')) {
    case 'available':
      return { works: true, says: 'It is ready. No key, and nothing leaves this machine.' };
    case 'downloadable':
    case 'downloading':
      return { works: true, says: `The browser loads it first, which takes minutes. ${needs}` };
    default:
      return { works: false, says: `The browser says that it cannot run it here. ${needs}` };
  }
}
