export type Language = 'en' | 'ja' | 'zh' | 'ko';

/**
 * The language a question is written in, by its script: kana is Japanese, Hangul Korean, other
 * ideographs Chinese.
 */
export function languageOf(text: string): Language {
  if (/[\u3040-\u30ff]/.test(text)) return 'ja';
  if (/[\uac00-\ud7af\u1100-\u11ff]/.test(text)) return 'ko';
  return /[\u3400-\u9fff]/.test(text) ? 'zh' : 'en';
}
