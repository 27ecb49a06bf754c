export type Language = 'en' | 'ja' | 'zh' | 'ko';

/**
 * Returns the language of a question by its script: kana is Japanese, Hangul is Korean, other
 * ideographs are Chinese.
 */
export function languageOf(text: string): Language {
  if (/[\u3040-\u30ff]/.test(text)) return 'ja';
  if (/[\uac00-\ud7af\u1100-\u11ff]/.test(text)) return 'ko';
  return /[\u3400-\u9fff]/.test(text) ? 'zh' : 'en';
}
